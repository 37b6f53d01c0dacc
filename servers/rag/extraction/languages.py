"""Source code by its file name: the language as fences of code call it."""

LANGUAGES: dict[str, str] = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript",
    ".cjs": "javascript", ".jsx": "jsx", ".ts": "typescript", ".tsx": "tsx", ".java": "java",
    ".kt": "kotlin", ".kts": "kotlin", ".scala": "scala", ".groovy": "groovy", ".c": "c",
    ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hpp": "cpp", ".cs": "csharp",
    ".fs": "fsharp", ".go": "go", ".rs": "rust", ".swift": "swift", ".m": "objectivec",
    ".rb": "ruby", ".php": "php", ".pl": "perl", ".pm": "perl", ".lua": "lua", ".r": "r",
    ".jl": "julia", ".hs": "haskell", ".ml": "ocaml", ".ex": "elixir", ".exs": "elixir",
    ".erl": "erlang", ".clj": "clojure", ".lisp": "lisp", ".el": "lisp", ".dart": "dart",
    ".zig": "zig", ".nim": "nim", ".sh": "bash", ".bash": "bash", ".zsh": "bash",
    ".fish": "fish", ".ps1": "powershell", ".bat": "batch", ".sql": "sql", ".graphql": "graphql",
    ".proto": "protobuf", ".css": "css", ".scss": "scss", ".less": "less", ".vue": "vue",
    ".svelte": "svelte", ".xml": "xml", ".xsd": "xml", ".xsl": "xml", ".svg": "xml",
    ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".ini": "ini", ".cfg": "ini",
    ".conf": "ini", ".properties": "ini", ".tex": "latex", ".bib": "bibtex", ".tf": "hcl",
    ".gradle": "groovy", ".cmake": "cmake", ".diff": "diff", ".patch": "diff", ".asm": "asm",
    ".s": "asm", ".v": "verilog", ".vhd": "vhdl", ".f90": "fortran", ".pas": "pascal",
}  # fmt: skip

SOURCE_NAMES: dict[str, str] = {
    "makefile": "make", "gnumakefile": "make", "dockerfile": "dockerfile",
    "containerfile": "dockerfile", "cmakelists.txt": "cmake", "jenkinsfile": "groovy",
    "rakefile": "ruby", "gemfile": "ruby", "vagrantfile": "ruby", "procfile": "yaml",
}  # fmt: skip
"""Files that are known by their whole name, in lower case."""
