"""Checks request bodies against the types of the vendors' own Python SDKs.

Reads one JSON object a line, {"name", "wire", "body"}, and answers each with {"name", "error"}; the error is null where the SDK's types
take the body. The types are made strict first: a key that they do not know, a missing one and a value of another type all fail.
"""

import json
import sys
import typing

# Pydantic validates an `Iterable` only when it is read, which does not happen here; a list is validated immediately.
lazy = typing.Iterable
typing.Iterable = typing.List
import anthropic  # noqa: E402
import anthropic.types.message_create_params  # noqa: E402
import openai  # noqa: E402
import openai.types.chat.completion_create_params  # noqa: E402
import openai.types.responses.response_create_params  # noqa: E402

typing.Iterable = lazy
from google.genai import types as genai  # noqa: E402
from pydantic import ConfigDict, TypeAdapter  # noqa: E402
from typing_extensions import is_typeddict  # noqa: E402


def close(package):
    """Makes every dictionary type of a package refuse keys that it does not know."""
    for name, module in list(sys.modules.items()):
        if module is None or not name.startswith(package + "."):
            continue
        if "SequenceNotStr" in vars(module):
            module.SequenceNotStr = typing.List
        for thing in list(vars(module).values()):
            if is_typeddict(thing) and thing.__module__.startswith(package + "."):
                thing.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


close("anthropic")
close("openai")
MESSAGES = TypeAdapter(anthropic.types.message_create_params.MessageCreateParamsStreaming)
CHAT = TypeAdapter(openai.types.chat.completion_create_params.CompletionCreateParamsStreaming)
RESPONSES = TypeAdapter(openai.types.responses.response_create_params.ResponseCreateParamsStreaming)


def enveloped(body, version):
    """Bedrock and Vertex name the model in the address and the version in the body; the rest is the same."""
    if body.pop("anthropic_version", None) != version:
        raise ValueError("anthropic_version is not " + version)
    if "model" in body:
        raise ValueError("the model's name stands in the body")
    if version.startswith("bedrock"):
        for beta in body.pop("anthropic_beta", []):
            TypeAdapter(str).validate_python(beta, strict=True)
        if "stream" in body:
            raise ValueError("stream stands in the body")
        body["stream"] = True
    body["model"] = "claude"
    MESSAGES.validate_python(body, strict=True)


def gemini(body):
    """The REST body is made of the SDK's own models, which refuse unknown keys by themselves."""
    kinds = {
        "contents": typing.List[genai.Content],
        "systemInstruction": genai.Content,
        "tools": typing.List[genai.Tool],
        "toolConfig": genai.ToolConfig,
        "generationConfig": genai.GenerationConfig,
        "safetySettings": typing.List[genai.SafetySetting],
        "cachedContent": str,
        "labels": typing.Dict[str, str],
    }
    if not body.get("contents"):
        raise ValueError("no contents")
    for key, value in body.items():
        if key not in kinds:
            raise ValueError(key + " is no field of a request")
        TypeAdapter(kinds[key]).validate_json(json.dumps(value))


CHECKS = {
    "anthropic-messages": lambda body: MESSAGES.validate_python(body, strict=True),
    "bedrock-anthropic": lambda body: enveloped(body, "bedrock-2023-05-31"),
    "vertex-anthropic": lambda body: enveloped(body, "vertex-2023-10-16"),
    "openai-chat": lambda body: CHAT.validate_python(body, strict=True),
    "openai-responses": lambda body: RESPONSES.validate_python(body, strict=True),
    "gemini": gemini,
}

for line in sys.stdin:
    case = json.loads(line)
    error = None
    try:
        CHECKS[case["wire"]](case["body"])
    except ValueError as refusal:
        error = str(refusal)[:2000]
    print(json.dumps({"name": case["name"], "error": error}), flush=True)
