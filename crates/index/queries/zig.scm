(function_declaration name: (identifier) @name) @function
(variable_declaration (identifier) @name [(struct_declaration) (union_declaration) (opaque_declaration)]) @struct
(variable_declaration (identifier) @name [(enum_declaration) (error_set_declaration)]) @enum
(source_file (variable_declaration . (identifier) @name) @variable)
(test_declaration [(string) (identifier)] @name) @test
