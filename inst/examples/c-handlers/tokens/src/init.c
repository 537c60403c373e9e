/* What R may call, and the names that dr_get_cpp() finds handlers by. */
#include "tokens.h"
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

/* by way of void (*)(void), which the compiler knows to be any function */
#define ANY(function) ((DL_FUNC)(void (*)(void))(function))

static const R_CallMethodDef calls[] = {
    {"model_make", ANY(model_make), 4},
    {"batcher_make", ANY(batcher_make), 1},
    {NULL, NULL, 0},
};

void attribute_visible R_init_tokens(DllInfo *dll) {
  R_registerRoutines(dll, NULL, calls, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  DROVER_REGISTER("tokens", "tokens_health", tokens_health);
  DROVER_REGISTER("tokens", "tokens_word", tokens_word);
  DROVER_REGISTER("tokens", "tokens_score", tokens_score);
  DROVER_REGISTER("tokens", "tokens_generate", tokens_generate);
  DROVER_REGISTER("tokens", "tokens_batched", tokens_batched);
  DROVER_REGISTER_SOCKET("tokens", "tokens_next", tokens_next);
  R_RegisterCCallable("tokens", "tokens_shout", ANY(tokens_shout));
  R_RegisterCCallable("tokens", "tokens_spell", ANY(tokens_spell));
}
