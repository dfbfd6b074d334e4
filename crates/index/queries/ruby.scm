(module name: (_) @name) @module
(class name: (_) @name) @class
(singleton_class value: (_) @name) @class
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(alias name: (_) @name) @method
(assignment left: (constant) @name) @constant
