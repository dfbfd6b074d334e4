(call target: (identifier) @_word (arguments . (alias) @name)
  (#any-of? @_word "defmodule" "defprotocol" "defimpl")) @module
(call target: (identifier) @_word
  (arguments . [(identifier) @name (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name) operator: "when")])
  (#any-of? @_word "def" "defp" "defdelegate" "defguard" "defguardp" "defn" "defnp")) @function
(call target: (identifier) @_word
  (arguments . [(identifier) @name (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name) operator: "when")])
  (#any-of? @_word "defmacro" "defmacrop")) @macro
(call target: (identifier) @name (arguments) (#any-of? @name "defstruct" "defexception")) @struct
(call target: (identifier) @_word (arguments . (string) @name) (#any-of? @_word "test" "describe")) @test
