// Stands for BMv2's registration of externs, which needs a switch.
#pragma once
#define BM_REGISTER_EXTERN_FUNCTION(name, ...) static_assert(true, #name)
