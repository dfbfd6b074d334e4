(rule (targets) @name) @rule
(variable_assignment name: (word) @name) @variable
(shell_assignment name: (word) @name) @variable
(define_directive name: (word) @name) @macro
