(binary_operator lhs: [(identifier) (string)] @name operator: ["<-" "=" "<<-"] rhs: (function_definition)) @function
(program (binary_operator lhs: (identifier) @name operator: ["<-" "="]) @variable)
(call function: (identifier) @_word arguments: (arguments . (argument value: (string) @name))
  (#any-of? @_word "setClass" "setRefClass" "R6Class")) @class
(call function: (identifier) @_word arguments: (arguments . (argument value: (string) @name))
  (#any-of? @_word "setGeneric" "setMethod")) @method
