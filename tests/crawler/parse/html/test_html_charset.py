"""Encodings and kinds of bodies: byte order mark, header, meta, guess; and what is no HTML."""

import json
import random

import pytest
from htmlpages import read

from crawler.parse.html import encoding
from crawler.parse.html.encoding import is_html


def decoded(body: bytes, content_type: str = "text/html") -> str:
    return encoding.to_utf8(body, content_type).body.decode()


def test_whatwg_order_is_bom_header_meta_guess() -> None:
    meta = b"<meta charset=windows-1251>"
    assert decoded(b"\xef\xbb\xbf" + meta + "é".encode(), "text/html; charset=koi8-r").endswith("é")
    assert decoded(meta + b"\xc1", "text/html; charset=koi8-r").endswith("\u0430")
    assert decoded(meta + b"\xc1").endswith("\u0411")
    assert decoded(b"<p>\xe9") == "<p>é"
    assert decoded("<p>é".encode()) == "<p>é"
    assert decoded(b"\xff\xfe" + "<p>é".encode("utf-16le"), "text/html; charset=utf-8") == "<p>é"
    assert decoded(b"\xfe\xff" + "<p>é".encode("utf-16be")) == "<p>é"
    assert decoded("<p>é".encode("utf-16le"), "text/html; charset=utf-16") == "<p>é"


def test_ours_a_body_cut_within_a_character_is_still_utf8() -> None:
    assert decoded("<p>éé".encode()[:-1]) == "<p>é\ufffd"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"<meta charset=koi8-r>", "koi8-r"),
        (b"<META CHARSET = 'KOI8-R' >", "koi8-r"),
        (b"<meta/charset=koi8-r/>", ""),
        (b"<meta/charset='koi8-r'/>", "koi8-r"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "koi8-r"),
        (b"<meta content=\"text/html; charset = 'koi8-r'\" http-equiv=content-type>", "koi8-r"),
        (b'<meta content="charset; charset=koi8-r" http-equiv=content-type>', "koi8-r"),
        (b'<meta content="text/html; charset=koi8-r">', ""),
        (b'<meta content="charset=\'koi8-r" http-equiv=content-type>', ""),
        (b"<meta charset=utf-16>", "utf-8"),
        (b"<meta charset=utf-16be>", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
        (b"<meta charset=nonsense><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset=rot13>", ""),
        (b"<!-- <meta charset=koi8-r> -->", ""),
        (b"<!-- > <meta charset=koi8-r>", ""),
        (b"<!--><meta charset=koi8-r>-->", "koi8-r"),
        (b"<!---><meta charset=koi8-r>", "koi8-r"),
        (b"<!doctype html><?xml x?></p ><meta charset=koi8-r>", "koi8-r"),
        (b"<p title='<meta charset=koi8-r>'>", ""),
        (b"<p title=\"'\" x='>'><meta charset=koi8-r>", "koi8-r"),
        (b"<p title='<meta charset=koi8-r>", ""),
        (b"<metax charset=koi8-r>", ""),
        (b"<meta charset=koi8-r charset=utf-8>", "koi8-r"),
        (b"<meta charset=koi8-r", ""),
        (b"<meta charset='koi8-r>", ""),
        (b"<meta charset>", ""),
        (b"<meta charset=><meta charset=koi8-r>", "koi8-r"),
        (b"<script>x = '<meta charset=koi8-r>'</script>", "koi8-r"),
        (b" " * 1_003 + b"<meta charset=koi8-r>", "koi8-r"),
        (b" " * 1_004 + b"<meta charset=koi8-r>", ""),
        (b" " * 900 + b"<meta charset=koi8-r>", "koi8-r"),
        (b"<", ""),
        (b"</", ""),
        (b"<!", ""),
        (b"", ""),
    ],
)
def test_whatwg_prescan(head: bytes, name: str) -> None:
    assert encoding.prescan(head) == name


@pytest.mark.parametrize(
    "label", ["hex", "rot13", "zlib_codec", "undefined", "idna", "utf-7", "base64", "\x00", "é" * 99]
)
def test_whatwg_labels_are_never_looked_up_among_python_codecs(label: str) -> None:
    assert decoded(b"<p>\xe9", f"text/html; charset={label}") == "<p>é"
    assert decoded(f"<meta charset={label}><p>".encode("latin-1") + b"\xe9").endswith("<p>é")


def test_whatwg_replacement_encodings_are_not_read() -> None:
    assert decoded(b"<a href=/x>", "text/html; charset=iso-2022-kr") == "\ufffd"


@pytest.mark.parametrize(
    "name", ["shift_jis", "gbk", "gb18030", "euc-kr", "euc-jp", "iso-2022-jp", "big5", "windows-1251"]
)
def test_whatwg_legacy_encodings(name: str) -> None:
    text = "<title>Привет</title>" if name == "windows-1251" else "<title>一</title>"
    assert decoded(text.encode(name), f"text/html; charset={name.upper()}") == text
    assert decoded(b"\xff\x80\xfe" * 9, f"text/html; charset={name}")


@pytest.mark.parametrize(
    "value",
    [
        "text/html; charset=koi8-r",
        'text/html;CHARSET="koi8-r"',
        "text/html; x=y; charset='koi8-r' ",
        "text/html;charset=koi8-r;a=b",
    ],
)
def test_rfc9110_charset_parameter(value: str) -> None:
    assert encoding.header_charset(value) == "koi8-r"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("text/html", ""),
        ("text/html; charset=", ""),
        ('text/html; charset=""', ""),
        ("text/html; charset=X-SJIS", "x-sjis"),
        ("text/html; charset=X-X", "x-x"),
    ],
)
def test_rfc9110_a_charset_parameter_may_be_missing_or_empty_or_begin_with_any_letter(value: str, name: str) -> None:
    assert encoding.header_charset(value) == name


@pytest.mark.parametrize(
    "body",
    [
        b"\x89PNG\r\n\x1a\n0000",
        b"\xff\xd8\xff\xe0",
        b"GIF89a...",
        b"RIFF\x00\x00\x00\x00WEBPVP8 ",
        b"%PDF-1.7",
        b"PK\x03\x04",
        b"\x00\x00\x00\x18ftypmp42",
        b"\x1f\x8b\x08\x00",
        b"\x1aE\xdf\xa3",
        b"wOF2\x00",
    ],
)
def test_whatwg_mimesniff_a_binary_body_is_no_html_whatever_its_label(body: bytes) -> None:
    for label in ("text/html", "text/html; charset=utf-8", ""):
        page = read(body + b"<a href=/x>", content_type=label)
        assert (page.is_html, page.links) == (False, [])


def test_whatwg_mimesniff_noise_is_no_html_whatever_its_label() -> None:
    for seed in range(200):
        noise = random.Random(seed).randbytes(random.Random(-seed - 1).choice((300, 2_000, 50_000)))
        for label in ("text/html", "text/html; charset=utf-8"):
            assert not is_html(label, noise), seed
            if len(noise) > 300:
                assert not is_html(label, b"\xff\xfe" + noise), seed
                assert not is_html(label, b"\xfe\xff" + noise), seed


def test_ours_text_with_a_few_control_characters_is_html() -> None:
    words = "Grüße aus 東京, Привет. " * 40
    for charset in ("utf-8", "utf-16", "utf-16le"):
        assert is_html(f"text/html; charset={charset}", words.encode(charset))
    assert is_html("text/html; charset=iso-2022-jp", ("東京 タワー " * 100).encode("iso-2022-jp"))
    assert is_html("text/html", (words + "\v\v\x02").encode())


@pytest.mark.parametrize(
    ("label", "body", "answer"),
    [
        ("", b"\n <!DOCTYPE HTML><p>", True),
        ("", b"<html>", True),
        ("", b"\xef\xbb\xbf<HEAD >", True),
        ("", b"<!-- x -->", True),
        ("", b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", True),
        ("", b"<?xml version='1.0'?><rss>", False),
        ("", b"hello", False),
        ("", b"{}", False),
        ("", b"", False),
        ("", b"<bogus>", False),
        ("text/html", b"", True),
        ("text/html", b"plain words", True),
        ("TEXT/HTML; charset=x", b"<p>", True),
        ("text/html, text/html", b"plain words", True),
        ("application/xhtml+xml", b"<?xml?><html>", True),
        ("text/plain", b"<html>", False),
        ("application/json", b"<html>", False),
        ("image/svg+xml", b"<svg>", False),
    ],
)
def test_whatwg_mimesniff_labels(label: str, body: bytes, answer: bool) -> None:
    assert is_html(label, body) is answer


@pytest.mark.parametrize(
    "label", ["", "; charset=utf-8", "; charset=iso-8859-1", "; charset=UTF-8", "; charset=koi8-r"]
)
def test_whatwg_ascii_is_itself_in_every_encoding_that_pages_use(label: str) -> None:
    for body in (b"<p>plain words</p>", b"<meta charset=koi8-r><p>plain"):
        assert encoding.to_utf8(body, f"text/html{label}").body == body


def test_whatwg_escapes_of_iso_2022_jp_are_not_ascii() -> None:
    body = "<meta charset=iso-2022-jp><p>東京".encode("iso-2022-jp")
    assert body.isascii()
    assert decoded(body).endswith("東京")


@pytest.mark.parametrize(
    ("body", "label", "name"),
    [
        (b"<p>\xe9", "", "windows-1252"),
        ("<p>é".encode(), "", ""),
        ("<p>é".encode()[:-1] + b"x", "", "windows-1252"),
        (b"<p>\xe9", "; charset=koi8-r", "koi8-r"),
        ("<p>é".encode("utf-16le"), "; charset=utf-16", ""),
        (b"\xc3", "", "windows-1252"),
        ("<p>éé".encode()[:-1], "", ""),
    ],
)
def test_whatwg_url_queries_are_in_the_encoding_of_their_page(body: bytes, label: str, name: str) -> None:
    assert encoding.to_utf8(body, f"text/html{label}").encoding == name


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"<meta http-equiv=content-type><meta charset=koi8-r>", "koi8-r"),
        (b"<meta content='charset=koi8-r'>", ""),
        (b"<meta http-equiv=content-type content='charset=\"koi8-r\"; charset=gbk'>", "koi8-r"),
        (b"<a title=<meta charset=koi8-r>", ""),
        (b"</a title=x><meta charset=koi8-r>", "koi8-r"),
        (b"</a title='<meta charset=koi8-r>'>", ""),
        (b"</a title='>'><meta charset=koi8-r>", "koi8-r"),
        (b"<a x=''y='>'><meta charset=koi8-r>", "koi8-r"),
        (b"<a x='y'=z><meta charset=koi8-r>", "koi8-r"),
        (b'<a x="y"=z><meta charset=koi8-r>', "koi8-r"),
        (b"<a x=y=z><meta charset=koi8-r>", "koi8-r"),
        (b"<meta charset='koi8-r><meta charset=gbk>", ""),
        (b"<meta charset=koi8-r x='><meta charset=gbk>", ""),
        (b"<meta charset=\xe9><meta charset=gbk>", "gbk"),
    ],
)
def test_whatwg_prescan_of_attributes(head: bytes, name: str) -> None:
    assert encoding.prescan(head) == name


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_whatwg_mimesniff_utf16_with_its_mark_is_html_by_its_markup(codec: str) -> None:
    mark = "\ufeff".encode(codec)
    assert is_html("", mark + "<html><p>é".encode(codec))
    assert is_html("application/xml", mark + "\n<?xml version='1.0'?><html >".encode(codec))
    assert not is_html("", mark + "hello <html>".encode(codec))


PROLOGS = ["", "\n ", "<?xml version='1.0'?>\n", "<?xml version='1.0'?><?xml-stylesheet href='/x.xsl'?><!-- <html> -->"]
XHTML = " xmlns='http://www.w3.org/1999/xhtml'"
XML_LABELS = ["text/xml", "application/xml; charset=utf-8", ""]


def test_whatwg_mimesniff_a_feed_or_a_sitemap_is_no_html_whatever_its_label_and_its_prolog() -> None:
    for seed in range(300):
        draw = random.Random(seed)
        root = draw.choice(["rss version='2.0'", "feed", "rdf:RDF", "urlset", "sitemapindex"])
        doctype = draw.choice(["", "<!DOCTYPE rss PUBLIC '-//N//DTD RSS 0.91//EN' 'http://n.example/r.dtd'>"])
        text = draw.choice(PROLOGS) + doctype + f"<{root}><description>{'<p>x' * 3}</description>"
        body = draw.choice([text.encode(), "\ufeff".encode() + text.encode(), text.encode("utf-16")])
        assert not is_html(draw.choice(["text/html", "text/html; charset=utf-8", *XML_LABELS]), body), seed


def test_whatwg_mimesniff_other_xml_and_json_are_no_html_and_html_is_whatever_its_prolog() -> None:
    for seed in range(300):
        draw = random.Random(seed)
        prolog = draw.choice(PROLOGS)
        for root in ("OpenSearchDescription", "kml", "soap:Envelope"):
            assert is_html("text/html", f"{prolog}<{root} xmlns='urn:x'><p>".encode()) is ("<?xml" not in prolog), seed
        root = draw.choice(
            ["html", "HTML", "!DOCTYPE html", "!doctype HTML PUBLIC '-//W3C//DTD HTML 4.0//EN'", "h2", "p"]
        )
        assert is_html("text/html", f"{prolog}<{root}>words".encode()), seed
        assert is_html(draw.choice(XML_LABELS), f"{prolog}<html lang=en{XHTML}>".encode()), seed
        data = json.dumps(draw.choice([{}, {"a": [1, "<p>"]}, [], [{"b": None}]]), indent=draw.choice([None, 1]))
        assert not is_html("text/html", draw.choice(["", "\ufeff", "\n"]).encode() + data.encode()), seed
        assert is_html("text/html", draw.choice([f"{data}<p>x", "[gallery] words", "{{ title }}", data[:-1]]).encode())


def test_whatwg_mimesniff_xml_is_html_only_if_it_says_so() -> None:
    assert not is_html("text/xml", f"<feed><div{XHTML}>".encode())
    assert is_html("text/xml", b"\n <?xml version='1.0'?><html>")
    assert not is_html("text/xml", b"<html>")
    assert not is_html("application/xml", b"<html>")
    assert is_html("", b"<html>")


@pytest.mark.parametrize(("controls", "answer"), [(8, True), (9, False)])
def test_ours_eight_control_characters_are_blemishes_in_a_short_body(controls: int, answer: bool) -> None:
    assert is_html("text/html", b"<p>words</p>" * 10 + b"\x01" * controls) is answer
    assert is_html("text/html; charset=utf-16le", ("слова " * 20 + "\x01" * controls).encode("utf-16le")) is answer
    invalid = b"<p>words</p>" * 10 + b"\xff" * 10 + b"\x01" * controls
    assert is_html("text/html; charset=utf-8", invalid) is answer


@pytest.mark.parametrize(("halves", "answer"), [(2, True), (3, False)])
def test_ours_two_half_surrogates_are_blemishes_in_1000_bytes_of_utf16(halves: int, answer: bool) -> None:
    body = "".join("\ud800" * (n < halves) + "слово" for n in range(100))[:500].encode("utf-16le", "surrogatepass")
    assert len(body) == 1_000
    assert is_html("text/html; charset=utf-16le", body) is answer
