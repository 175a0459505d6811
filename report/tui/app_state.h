/*
 * The state of the application, which the views draw and change: the model, the selection, the
 * trail of filters, and the wish for what is to be seen next. Nothing here blocks or takes long.
 */
#ifndef EBPROF_APP_STATE_H
#define EBPROF_APP_STATE_H

#include "report/tui/chrome.h"
#include "report/tui/code_reader.h"
#include "report/tui/line_edit.h"
#include "report/tui/model.h"
#include "report/tui/overlay.h"
#include "report/tui/trail.h"
#include "report/tui/view.h"

enum app_unit {
	APP_PERCENT,
	APP_VALUE,
	APP_SAMPLES,
};

/* What is typed at the bottom line, and for what. */
enum app_prompt {
	APP_PROMPT_NONE,
	APP_PROMPT_SEARCH,
	APP_PROMPT_KEEP,
	APP_PROMPT_EXCLUDE,
	APP_PROMPT_PRINT,
	APP_PROMPT_BASELINE,
	APP_PROMPT_SAVE,
	APP_PROMPT_COMMAND, /* with the overlay, which has those that match */
	APP_PROMPTS,
};

/*
 * One selection for all views. Function ids change when symbols arrive, frames do not: what is
 * selected is remembered by its frames.
 */
struct app_selection {
	uint32_t frame;   /* of the selected function; 0: none */
	uint32_t group;   /* the frame of the group that it is selected in; 0: none */
	struct path path; /* to the selected branch of the tree, where a view has branches */
	uint32_t thread;  /* index; 0: none */
	uint32_t process; /* that of the thread, or one alone; 0: none */
	bool is_default;  /* the user chose no function: it is the first row's */
};

/* Of the menu of waits, a row. */
struct wait_choice {
	uint32_t thread, stack, event; /* indices */
	uint32_t frame;                /* of the function that waited; 0: none */
};

/* A file that is to be written; emptied by who did it. */
struct app_print {
	char *path; /* NULL: none */
	struct str text;
};

struct app_options {
	const char *file_name;
	const struct code_options *code; /* where source and binaries are looked for */
	bool is_inverted;                /* so the call tree begins */
	bool hides_native;               /* so it begins; see report/analyse/hidden_frames.h */
	bool hides_kernel;               /* likewise */
	const char *baseline;      /* what to compare with from the beginning; NULL: nothing */
	const char *baseline_name; /* how that is called; NULL: as the file */
	const struct symbol_file_options *files; /* where symbols were looked for */
	bool is_live;                            /* the recording goes on: see app_renew() */
};

struct app {
	const struct app_options *options;
	const struct view *const *views; /* by enum view_id */
	struct model *model;             /* held; NULL until the first one comes */
	double loaded;                   /* 0 to 1, until then */
	const char *busy;                /* what the worker does meanwhile; NULL: nothing */
	struct naming naming;
	struct model_wish wish;
	struct listing *listing; /* held; what was read last of a function, or NULL */
	unsigned listing_wish;   /* grows when that of what the model annotates is wanted */
	bool is_intel;           /* assembly in Intel's syntax */
	struct trail trail;
	struct app_selection selection;
	enum view_id view;
	unsigned shown; /* grows with each view that is gone to, not with those that are gone back
			   to */
	VEC(enum view_id) behind; /* where going back leads to */
	void *states[VIEW_COUNT];
	enum app_unit unit;
	enum app_prompt prompt;
	struct str typed;
	bool goes_to_match;                  /* Enter was typed behind what is searched for */
	struct line_edit edits[APP_PROMPTS]; /* where in it, and what was typed before */
	struct str message;                  /* shown until the next key */
	bool message_is_warning;
	bool has_told_of_lacks; /* what the recording cannot have: once, when names are there */
	uint32_t pressed; /* the newest key, if it is to have an effect that can be seen; else 0 */
	uint64_t seen;    /* a hash of what was drawn last, without the line of messages */
	struct overlay overlay;
	VEC(struct wait_choice) waits;     /* rows of its menu of waits */
	const struct model *waits_written; /* the model by whose names these are; not held */
	struct chrome chrome;
	struct app_print to_print;
	struct str to_copy; /* the terminal's clipboard is to hold it; emptied by who did it */
	unsigned cancels;   /* grows with each ^C */
	bool is_over;
	bool was_seen[VIEW_COUNT]; /* views that hold something of a model */
	/* With is_live: */
	bool is_paused;
	const char *live_words; /* what is shown of the time, for the title; static, or NULL */
	char *to_save;          /* a path: what is shown is to be written there; or NULL */
};

/* Takes a model over from the worker. */
void app_update(struct app *app, struct model *model);
/*
 * The same with a model of a newer state of the recording, that app_renewed_wish() was fulfilled
 * by: what is selected, open, filtered, zoomed to stays that. Nothing holds a model of the older
 * state then.
 */
void app_renew(struct app *app, struct model *model);
/* What is wished for now, in terms of the newer state that `next` is of. *ret is the caller's. */
void app_renewed_wish(const struct app *app, const struct model *next, struct model_wish *ret);
/* Whether what is shown has to stay as it is meanwhile: source, and the menu of waits. */
bool app_is_held(const struct app *app);
/* The same for what the code reader has read. */
void app_update_listing(struct app *app, struct listing *listing);
/* There is a model, and all in it that the view is to draw. */
bool app_has_view(const struct app *app);
/* The view, or the one of its forms that is seen. */
const struct view *app_form(const struct app *app);
/* What the action is called there; NULL: as everywhere. */
const char *app_word(const struct app *app, enum action action);

/* Undoes until so many steps of the trail are left. */
void app_go_back_to(struct app *app, size_t steps);
/* Undo, redo, reset of the trail, this with the search; with nothing to undo, the search ends, then
 * the view. */
void app_act_on_trail(struct app *app, enum action action);
/* To the view before; where there is none, how to leave is said. */
void app_go_back(struct app *app);
/* "": for nothing any more. */
void app_search(struct app *app, const char *text);

/* The function that is selected; 0 when none is, or it is not there any more. */
uint32_t app_function(const struct app *app);
void app_select(struct app *app, uint32_t frame);
/* The same in one of the groups, of which that is the frame; 0: in none. */
void app_select_in_group(struct app *app, uint32_t frame, uint32_t group);
/* Selects a branch of the model's tree, and so its function. */
void app_select_node(struct app *app, uint32_t node);
/* The selected branch, or the deepest that is left of it; 0: the root. */
uint32_t app_node(const struct app *app);
/* Where a function takes most, below what is zoomed to, else in the selected group; 0: nowhere. */
uint32_t app_hottest_node(const struct app *app, uint32_t function);
/* The branch that the newest zoom leads to; 0: the root. */
uint32_t app_zoomed_node(const struct app *app);

void app_show(struct app *app, enum view_id view);
/* Adds a filter, or a zoom to a branch of the model's tree. */
void app_filter(struct app *app, const struct scope_term *term);
/* Adds the filter of a row of the menu of waits, in place of that of another row. */
void app_filter_wait(struct app *app, uint32_t thread, uint32_t stack);
void app_zoom(struct app *app, uint32_t node);
/* Likewise where leaves are on top: to frames from a leaf to one of its callers. */
void app_zoom_callers(struct app *app, const struct path *path);
/* Likewise in the trees of the comparison, from the root or a leaf: diff_tree_frame(). */
void app_zoom_both(struct app *app, const struct path *path, bool is_inverted);
/* Wishes that models annotate the function of this frame. */
void app_annotate(struct app *app, uint32_t frame);
/* Another recording to compare with; "": none any more. */
void app_compare_with(struct app *app, const char *path);
/* What is "before" becomes "new", and what is "new" "before". */
void app_swap_sides(struct app *app);
/* A line in place of the hints until the next key: what was done, and why nothing was. */
void app_say(struct app *app, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void app_warn(struct app *app, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whose samples are shown. */
const struct profile_event *app_event(const struct app *app);
/* A value in the chosen unit, in at most 8 columns: "12.34%", "1.23 s" or in the unit of
 * the event, "12345". */
void app_put_value(const struct app *app, struct str *out, uint64_t value, uint64_t samples);
/* The same, right-aligned and in the colour of its share. */
void app_draw_value(const struct app *app, struct grid *grid, struct rect area, uint64_t value,
	uint64_t samples);
/* Of all samples in the model. */
double app_percent(const struct app *app, uint64_t value);
/* Instead of rows, where there are none. */
void app_draw_no_samples(const struct app *app, struct grid *grid, struct rect area);
/* How a function's name is to look: kernel, unknown, a match of the search. */
unsigned app_name_style(const struct app *app, uint32_t function);
/* The same in a row of several: while something is searched for, what is not it is dim. */
unsigned app_row_style(const struct app *app, uint32_t function);
/*
 * How the name of a function's file is to look: where there are scripts of several languages, that
 * of a language has its colour in flame graphs, if the terminal has one for each.
 */
unsigned app_file_style(const struct app *app, const struct grid *grid, uint32_t function);
/* Which of the functions that are searched for the selected one is, by self; 0: none of them. */
size_t app_match_number(const struct app *app);

#endif
