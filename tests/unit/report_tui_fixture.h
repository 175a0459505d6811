/* The terminal interface without a terminal: keys in, cells out, models made at once. */
#ifndef EBPROF_REPORT_TUI_FIXTURE_H
#define EBPROF_REPORT_TUI_FIXTURE_H

#include "report/tui/app.h"
#include "tests/unit/report_export_fixture.h"

struct tui_fixture {
	struct profile *profile;
	struct model_names *names;
	unsigned serial; /* of the newest wish that was fulfilled */
	struct app app;
	struct grid grid;
	struct str text;
	bool is_ascii;
	enum grid_colours colours;
};

/* Takes over a profile that is symbolized. */
void tui_fixture_init(struct tui_fixture *fixture, struct profile *profile);
void tui_fixture_deinit(struct tui_fixture *fixture);

/* What a person does; what that wishes for is there when it returns. */
void tui_fixture_input(struct tui_fixture *fixture, struct input input);
/* A key each character. */
void tui_fixture_keys(struct tui_fixture *fixture, const char *keys);
void tui_fixture_key(struct tui_fixture *fixture, uint32_t key);
void tui_fixture_mouse(struct tui_fixture *fixture, enum input_kind kind, int x, int y);

/* The screen as text, without blanks at the ends of lines; borrowed until the next call. */
const char *tui_fixture_screen(struct tui_fixture *fixture, int width, int height);
/* One of its lines; the screen must have been drawn. */
const char *tui_fixture_line(struct tui_fixture *fixture, int y);
/* The style of a cell that was drawn. */
unsigned tui_fixture_style(const struct tui_fixture *fixture, int x, int y);

#endif
