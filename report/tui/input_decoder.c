#include "report/tui/input_decoder.h"

#include <string.h>

enum {
	ESC = 0x1b,
	SEQUENCE_MAX = 64, /* longer ones are none of a keyboard's */
	PARAMETERS_MAX = 3,
	DOUBLE_CLICK_MS = 400,
	X10_BYTES = 3, /* button, x, y, each with 32 added */
};

void input_decoder_deinit(struct input_decoder *decoder)
{
	vec_each(&decoder->sequences, sequence)
		mem_free(sequence->bytes);
	vec_deinit(&decoder->sequences);
	str_deinit(&decoder->pending);
}

void input_decoder_add(struct input_decoder *decoder, const char *bytes, uint32_t key)
{
	if (!bytes || bytes == (const char *)-1 || bytes[0] != ESC || !bytes[1])
		return;
	struct input_sequence sequence = {.bytes = mem_strdup(bytes), .key = key};
	vec_push(&decoder->sequences, sequence);
}

void input_decoder_feed(struct input_decoder *decoder, const char *bytes, size_t len)
{
	struct str *pending = &decoder->pending;
	if (decoder->taken) {
		memmove(pending->data, pending->data + decoder->taken,
			pending->len - decoder->taken);
		str_truncate(pending, pending->len - decoder->taken);
		decoder->taken = 0;
	}
	str_write(pending, bytes, len);
}

bool input_decoder_is_open(const struct input_decoder *decoder)
{
	return decoder->taken < decoder->pending.len;
}

/* ---- sequences ---- */

/* What is left of the bytes, and what they meant. */
struct reading {
	const char *at;
	size_t len;
	size_t used; /* 0: more is needed */
	struct input input;
};

static struct input key_input(uint32_t key)
{
	return (struct input){.kind = INPUT_KEY, .key = key};
}

/* True when one of the terminal's own sequences stands there, or may still come to stand there. */
static bool read_own(const struct input_decoder *decoder, struct reading *reading)
{
	bool may_come = false;
	for (size_t i = 0; i < decoder->sequences.len; i++) {
		const struct input_sequence *own = &decoder->sequences.data[i];
		size_t len = strlen(own->bytes), have = reading->len < len ? reading->len : len;
		if (memcmp(own->bytes, reading->at, have) != 0)
			continue;
		if (have == len) {
			reading->used = len;
			reading->input = key_input(own->key);
			return true;
		}
		may_come = true;
	}
	return may_come;
}

static enum input_kind mouse_kind(unsigned button, bool is_release)
{
	enum {
		SHIFT_META_CTRL = 4 | 8 | 16,
		MOTION = 32,
		WHEEL = 64,
	};
	button &= ~(unsigned)SHIFT_META_CTRL;
	if (button & WHEEL)
		return button == WHEEL       ? INPUT_WHEEL_UP
		       : button == WHEEL + 1 ? INPUT_WHEEL_DOWN
					     : INPUT_NONE;
	if (button & MOTION)
		return button == MOTION ? INPUT_DRAG : INPUT_NONE;
	if (is_release)
		return button == 2 ? INPUT_NONE : INPUT_RELEASE;
	return button == 0 ? INPUT_PRESS : button == 2 ? INPUT_MENU : INPUT_NONE;
}

static void set_mouse(
	struct reading *reading, unsigned button, bool is_release, unsigned x, unsigned y)
{
	enum {
		FAR = 1 << 16,
	};
	reading->input = (struct input){
		.kind = mouse_kind(button, is_release),
		.x = x && x < FAR ? (int)x - 1 : 0,
		.y = y && y < FAR ? (int)y - 1 : 0,
	};
	if (!reading->input.kind) /* none is the end of the input, and a key would close a menu */
		reading->input.kind = INPUT_POINTER;
}

/* The old way: behind ESC [ M, a byte each. */
static void read_x10(struct reading *reading, size_t used)
{
	if (reading->len < used + X10_BYTES)
		return;
	const unsigned char *at = (const unsigned char *)reading->at + used;
	unsigned button = at[0] - 32U;
	bool is_release = (button & (3 | 64)) == 3;
	set_mouse(reading, is_release ? 0 : button, is_release, at[1] - 32U, at[2] - 32U);
	reading->used = used + X10_BYTES;
}

static uint32_t key_of_number(unsigned number)
{
	static const struct {
		unsigned number;
		uint32_t key;
	} keys[] = {{1, INPUT_HOME}, {7, INPUT_HOME}, {4, INPUT_END}, {8, INPUT_END},
		{3, INPUT_DELETE}, {5, INPUT_PAGE_UP}, {6, INPUT_PAGE_DOWN}, {11, INPUT_F1}};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].number == number)
			return keys[i].key;
	return INPUT_OTHER;
}

static uint32_t key_of_letter(char letter)
{
	static const struct {
		char letter;
		uint32_t key;
	} keys[] = {{'A', INPUT_UP}, {'B', INPUT_DOWN}, {'C', INPUT_RIGHT}, {'D', INPUT_LEFT},
		{'H', INPUT_HOME}, {'F', INPUT_END}, {'P', INPUT_F1}, {'Z', INPUT_BACK_TAB},
		{'M', INPUT_ENTER}};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].letter == letter)
			return keys[i].key;
	return INPUT_OTHER;
}

static void read_parameters(const char *at, size_t len, unsigned *ret)
{
	enum {
		BIG = 100000000,
	};
	size_t count = 0;
	for (size_t i = 0; i < len && count < PARAMETERS_MAX; i++) {
		if (at[i] == ';')
			count++;
		else if (at[i] >= '0' && at[i] <= '9' && ret[count] < BIG)
			ret[count] = 10 * ret[count] + (unsigned)(at[i] - '0');
	}
}

static void end_csi(struct reading *reading, size_t end)
{
	enum {
		PASTE_BEGINS = 200,
		PASTE_ENDS = 201,
	};
	const char *parameters = reading->at + 2;
	char final = reading->at[end];
	bool is_sgr = parameters[0] == '<';
	unsigned numbers[PARAMETERS_MAX + 1] = {0};
	read_parameters(parameters + is_sgr, end - 2 - is_sgr, numbers);
	reading->used = end + 1;
	if (is_sgr && (final == 'M' || final == 'm'))
		set_mouse(reading, numbers[0], final == 'm', numbers[1], numbers[2]);
	else if (final == '~' && (numbers[0] == PASTE_BEGINS || numbers[0] == PASTE_ENDS))
		reading->input =
			(struct input){.kind = INPUT_PASTE, .key = numbers[0] == PASTE_BEGINS};
	else
		reading->input =
			key_input(final == '~' ? key_of_number(numbers[0]) : key_of_letter(final));
}

/* ESC [ ... */
static void read_csi(struct reading *reading)
{
	if (reading->len > 2 && reading->at[2] == 'M') {
		read_x10(reading, 3);
		return;
	}
	if (reading->len > 2 && reading->at[2] == '[') { /* the Linux console's function keys */
		reading->used = reading->len > 3 ? 4 : 0;
		reading->input =
			key_input(reading->used && reading->at[3] == 'A' ? INPUT_F1 : INPUT_OTHER);
		return;
	}
	for (size_t i = 2; i < reading->len; i++) {
		unsigned char byte = (unsigned char)reading->at[i];
		if (byte >= 0x40 && byte < 0x7f) {
			end_csi(reading, i);
			return;
		}
		if (byte < 0x20 || byte >= 0x7f || i >= SEQUENCE_MAX) { /* it is none */
			reading->used = i;
			reading->input = key_input(INPUT_OTHER);
			return;
		}
	}
}

/* ESC O and a letter; the keypad's digits, too, where it sends such. */
static void read_ss3(struct reading *reading)
{
	static const char keypad[] = "*+,-./0123456789"; /* from 'j' on */
	if (reading->len < 3)
		return;
	char letter = reading->at[2];
	reading->used = 3;
	bool is_keypad = letter >= 'j' && letter <= 'y';
	reading->input =
		key_input(is_keypad ? (uint32_t)keypad[letter - 'j'] : key_of_letter(letter));
}

/* With another key behind it ESC is Alt, which has no meaning here: so they are two keys. */
static void read_escape(const struct input_decoder *decoder, struct reading *reading, bool ends)
{
	if (!read_own(decoder, reading) && reading->len > 1) {
		if (reading->at[1] == '[')
			read_csi(reading);
		else if (reading->at[1] == 'O')
			read_ss3(reading);
		else
			ends = true;
	}
	if (reading->used || !ends)
		return;
	reading->used = 1;
	reading->input = key_input(INPUT_ESCAPE);
}

/* ---- characters ---- */

static size_t utf8_len(unsigned char first)
{
	return first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
}

static void read_character(const struct input_decoder *decoder, struct reading *reading, bool ends)
{
	unsigned char first = (unsigned char)*reading->at;
	uint32_t code_point = INPUT_OTHER;
	if (first < 0x80) {
		reading->used = 1;
		bool is_backspace = first == 0x7f || first == INPUT_CTRL('h');
		reading->input = key_input(first == '\r'  ? INPUT_ENTER
					   : is_backspace ? INPUT_BACKSPACE
							  : first);
		return;
	}
	if (!decoder->is_ascii && reading->len < utf8_len(first) && !ends)
		return;
	reading->used =
		decoder->is_ascii ? 0 : str_utf8_decode(reading->at, reading->len, &code_point);
	if (!reading->used) {
		reading->used = 1;
		code_point = INPUT_OTHER;
	}
	reading->input = key_input(code_point);
}

/* ---- */

static bool is_double(struct input_decoder *decoder, const struct input *input, int64_t now_ms)
{
	bool is_second = decoder->press_ms && now_ms - decoder->press_ms <= DOUBLE_CLICK_MS &&
			 decoder->press_x == input->x && decoder->press_y == input->y;
	decoder->press_ms = is_second ? 0 : now_ms; /* a third one begins anew */
	decoder->press_x = input->x;
	decoder->press_y = input->y;
	return is_second;
}

static struct input mark_paste(struct input_decoder *decoder, struct input input)
{
	if (input.kind == INPUT_PASTE) {
		decoder->is_pasting = input.key;
		input = key_input(INPUT_OTHER);
	}
	if (input.kind == INPUT_KEY && input.key == INPUT_CTRL('c')) /* a way out of any paste */
		decoder->is_pasting = false;
	if (decoder->is_pasting && input.kind == INPUT_KEY)
		input.kind = INPUT_PASTE;
	return input;
}

struct input input_decoder_next(struct input_decoder *decoder, int64_t now_ms, bool ends)
{
	struct reading reading = {
		.at = str_text(&decoder->pending) + decoder->taken,
		.len = decoder->pending.len - decoder->taken,
	};
	if (!reading.len)
		return (struct input){0};
	ends = ends && !decoder->is_pasting; /* what ends a paste may come in pieces */
	if (*reading.at == ESC)
		read_escape(decoder, &reading, ends);
	else
		read_character(decoder, &reading, ends);
	if (!reading.used)
		return (struct input){0};
	decoder->taken += reading.used;
	if (reading.input.kind == INPUT_PRESS && is_double(decoder, &reading.input, now_ms))
		reading.input.kind = INPUT_DOUBLE;
	return mark_paste(decoder, reading.input);
}
