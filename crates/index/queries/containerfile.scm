(from_instruction (image_spec) @name) @section
(arg_instruction (arg_pair . (_) @name)) @variable
(run_instruction "RUN" @name) @step
(cmd_instruction "CMD" @name) @step
(entrypoint_instruction "ENTRYPOINT" @name) @step
