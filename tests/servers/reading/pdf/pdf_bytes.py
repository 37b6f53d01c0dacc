"""PDFs written by hand, so that making one needs no library: ISO 32000-1, 7.5."""

from collections.abc import Sequence


def pdf_of(pages: Sequence[str], title: str = "") -> bytes:
    """A PDF with one line of text on each page; an empty line leaves the page empty.

    What stands between `^{` and `}` is a superscript.
    """
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, line in enumerate(pages):
        shown = line.replace("^{", ") Tj /F1 8 Tf 5 Ts (").replace("}", ") Tj /F1 12 Tf 0 Ts (")
        content = f"BT /F1 12 Tf 72 700 Td ({shown}) Tj ET" if line else ""
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << "
            f"/F1 3 0 R >> >> /Contents {5 + 2 * index} 0 R >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    objects.append(f"<< /Title ({title}) >>")
    data = bytearray(b"%PDF-1.4\n")
    offsets: list[int] = []
    for number, text in enumerate(objects, start=1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{text}\nendobj\n".encode("latin-1")
    table = len(data)
    lines = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{lines}".encode()
    data += (
        f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\n".encode()
    )
    return bytes(data + f"startxref\n{table}\n%%EOF\n".encode())
