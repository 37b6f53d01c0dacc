const data = JSON.parse(document.getElementById("data").textContent);
const header = document.querySelector("header");
const main = document.getElementById("main");
main.replaceChildren();
