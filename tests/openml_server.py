"""A small server on loopback that speaks the parts of the OpenML REST API that tabpet uses.

Faults are switched on one by one: each is a list of answers that are given before the right one.
"""

import gzip
import hashlib
import threading
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DESCRIPTION = """<oml:data_set_description xmlns:oml="http://openml.org/openml">
  <oml:id>{id}</oml:id><oml:name>{name}</oml:name><oml:version>{version}</oml:version>
  <oml:description>a table for tests</oml:description><oml:format>ARFF</oml:format>
  <oml:licence>Public</oml:licence><oml:file_id>{id}</oml:file_id>
  <oml:url>{files}/data/v1/download/{id}/{name}.arff</oml:url>{parquet}
  <oml:default_target_attribute>{target}</oml:default_target_attribute>
  <oml:row_id_attribute>id</oml:row_id_attribute>
  <oml:visibility>public</oml:visibility><oml:status>active</oml:status>
  <oml:md5_checksum>{md5}</oml:md5_checksum>
</oml:data_set_description>"""
LISTING = """<oml:data xmlns:oml="http://openml.org/openml"><oml:dataset>
  <oml:did>{id}</oml:did><oml:name>{name}</oml:name><oml:version>{version}</oml:version>
  <oml:status>active</oml:status><oml:format>ARFF</oml:format><oml:file_id>{id}</oml:file_id>
</oml:dataset></oml:data>"""
ERROR = """<oml:error xmlns:oml="http://openml.org/openml">
  <oml:code>{code}</oml:code><oml:message>{message}</oml:message></oml:error>"""


class OpenMLServer:
    """Serves one dataset; `faults["arff"] = ["500", "truncate"]` spoils the first two answers."""

    def __init__(self, arff: str, parquet: bytes | None = None, openml_id: int = 7):
        self.arff, self.parquet = arff.encode(), parquet
        self.id, self.name, self.version, self.target = openml_id, "toy", 3, "label"
        self.faults: dict[str, list[str]] = {}
        self.hits: dict[str, int] = defaultdict(int)
        self.asked: list[str] = []  # paths with their queries
        self.closing = threading.Event()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.http.daemon_threads = True
        self.root = self.files = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def api(self) -> str:
        return f"{self.root}/api/v1/xml"

    def close(self) -> None:
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()

    def answer(self, path: str) -> tuple[str, int, bytes]:
        """The kind of a request, and the status and body of its right answer."""
        if path.startswith("/api/v1/xml/data/list"):
            found = f"data_name/{self.name}" in path and f"data_version/{self.version}" in path
            body = LISTING.format(id=self.id, name=self.name, version=self.version)
            missing = ERROR.format(code=372, message="No results")
            return "list", 200 if found else 412, (body if found else missing).encode()
        if path.startswith("/api/v1/xml/data/"):
            if path != f"/api/v1/xml/data/{self.id}":
                return (
                    "description",
                    412,
                    ERROR.format(code=111, message="Unknown dataset").encode(),
                )
            return "description", 200, self._description().encode()
        if path.startswith("/data/v1/download/"):
            return "arff", 200, self.arff
        if path.startswith("/datasets/") and self.parquet is not None:
            return "parquet", 200, self.parquet
        return "other", 404, b"<html>not here"

    def _description(self) -> str:
        parquet = f"<oml:parquet_url>{self.files}/datasets/0000/{self.id}.pq</oml:parquet_url>"
        return DESCRIPTION.format(
            id=self.id,
            name=self.name,
            version=self.version,
            files=self.files,
            target=self.target,
            parquet=parquet if self.parquet is not None else "",
            md5=hashlib.md5(self.arff).hexdigest(),
        )

    def _handler(server):
        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                self.respond(with_body=False)

            def do_GET(self):
                self.respond(with_body=True)

            def respond(self, with_body: bool) -> None:
                kind, status, body = server.answer(self.path.split("?")[0])
                fault = None
                if with_body:
                    server.asked.append(self.path)
                    server.hits[kind] += 1
                    waiting = server.faults.get(kind, [])
                    fault = waiting.pop(0) if waiting else None
                if fault == "hang":
                    server.closing.wait()
                    self.close_connection = True
                    return
                if fault in ("404", "500"):
                    status, body = int(fault), b"<html>broken"
                elif fault == "corrupt":
                    body = body[:-20] + b"x" * 20
                encoding = kind in ("list", "description", "arff")
                sent = gzip.compress(body) if encoding else body
                self.send_response(status)
                self.send_header("Content-Length", str(len(sent)))
                self.send_header("Content-Type", "text/xml; charset=utf-8")
                self.send_header("ETag", f'"{hashlib.md5(body).hexdigest()}"')
                self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
                if encoding:
                    self.send_header("Content-Encoding", "gzip")
                self.end_headers()
                if with_body:
                    self.wfile.write(sent[: len(sent) // 2] if fault == "truncate" else sent)

            def log_message(self, *_):
                pass

        return Handler
