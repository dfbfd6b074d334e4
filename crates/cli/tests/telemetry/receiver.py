"""An OTLP receiver: parses exports with the published types and prints each as a line of JSON.

Prints `listening PORT` first, and ends when its standard input does.
"""

import base64
import json
import sys
import threading
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

LOCK = threading.Lock()


def show(signal, message, headers):
    content = json_format.MessageToDict(message)
    with LOCK:
        print(json.dumps({"signal": signal, "headers": headers, "content": content}), flush=True)


def with_base64_ids(value):
    """OTLP's JSON has ids in hexadecimal, while that of Protocol Buffers has bytes in base64."""
    if isinstance(value, list):
        return [with_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {
        name: base64.b64encode(bytes.fromhex(item)).decode() if name in ids else with_base64_ids(item)
        for name, item in value.items()
    }


class Handler(BaseHTTPRequestHandler):
    TYPES = {
        "/v1/traces": ("traces", trace_service_pb2.ExportTraceServiceRequest, trace_service_pb2.ExportTraceServiceResponse),
        "/v1/metrics": (
            "metrics",
            metrics_service_pb2.ExportMetricsServiceRequest,
            metrics_service_pb2.ExportMetricsServiceResponse,
        ),
    }

    def do_POST(self):
        signal, kind, answer = self.TYPES[self.path]
        body = self.rfile.read(int(self.headers["content-length"]))
        message = kind()
        is_json = self.headers["content-type"] == "application/json"
        if is_json:
            json_format.ParseDict(with_base64_ids(json.loads(body)), message)
        else:
            message.ParseFromString(body)
        show(signal, message, dict(self.headers))
        body = b"{}" if is_json else answer().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", self.headers["content-type"])
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def serve_http():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print("listening", server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def serve_grpc():
    import grpc
    from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2_grpc
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc

    class Traces(trace_service_pb2_grpc.TraceServiceServicer):
        def Export(self, request, context):
            show("traces", request, dict(context.invocation_metadata()))
            return trace_service_pb2.ExportTraceServiceResponse()

    class Metrics(metrics_service_pb2_grpc.MetricsServiceServicer):
        def Export(self, request, context):
            show("metrics", request, dict(context.invocation_metadata()))
            return metrics_service_pb2.ExportMetricsServiceResponse()

    server = grpc.server(futures.ThreadPoolExecutor(2))
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(Traces(), server)
    metrics_service_pb2_grpc.add_MetricsServiceServicer_to_server(Metrics(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print("listening", port, flush=True)
    # It ends with its last reference.
    return server


SERVER = serve_grpc() if sys.argv[1] == "grpc" else serve_http()
sys.stdin.read()
