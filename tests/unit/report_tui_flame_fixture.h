/* The terminal interface without a terminal: a recording in memory, keys go in, text comes out. */
#ifndef EBPROF_REPORT_TUI_FLAME_FIXTURE_H
#define EBPROF_REPORT_TUI_FLAME_FIXTURE_H

#include "report/tui/app.h"

struct flame_fixture {
	struct profile *profile;
	struct model_names *names;
	struct app_options options;
	struct app app;
	struct grid grid;
	struct str text;
	unsigned wished;
};

/* Takes over a symbolized profile. The first model is there already. */
void flame_fixture_init(struct flame_fixture *fixture, struct profile *profile, int width, int height);
void flame_fixture_deinit(struct flame_fixture *fixture);
void flame_fixture_resize(struct flame_fixture *fixture, int width, int height, bool is_ascii);

/* What is wished for thereupon is there at once. */
void flame_fixture_input(struct flame_fixture *fixture, const struct input *input);
void flame_fixture_key(struct flame_fixture *fixture, uint32_t key);
/* Each character is a key. */
void flame_fixture_keys(struct flame_fixture *fixture, const char *keys);
/* Names and the model are made again from the profile, as after symbols have arrived. */
void flame_fixture_rename(struct flame_fixture *fixture);

/* Draws; what is seen, a line each without trailing blanks, until the next call. */
const char *flame_fixture_text(struct flame_fixture *fixture);
/* The same of one line, without its end. */
const char *flame_fixture_line(struct flame_fixture *fixture, int y);
/* Of what was drawn last. */
unsigned flame_fixture_style(const struct flame_fixture *fixture, int x, int y);

#endif
