/* What functions of Erlang and Elixir are called. */
#ifndef EBPROF_ERLANG_NAMES_H
#define EBPROF_ERLANG_NAMES_H

#include "format/base/str.h"

/* "Elixir.Enum:map/2" is called "Enum.map/2", as Elixir does; "lists:map/2" stays. */
void erlang_names_put_texts(struct str *name, struct str *file);

#endif
