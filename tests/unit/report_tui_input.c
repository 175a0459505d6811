#include <string.h>

#include "report/tui/input_decoder.h"
#include "tests/unit/unit.h"

/* What bytes mean, as text: "k97 press@4,2 pk120". */
static void decode(struct input_decoder *decoder, const char *bytes, int64_t now_ms, bool ends,
	const char *wanted)
{
	static const char *const kinds[] = {[INPUT_KEY] = "k",
		[INPUT_PRESS] = "press",
		[INPUT_DOUBLE] = "double",
		[INPUT_DRAG] = "drag",
		[INPUT_RELEASE] = "release",
		[INPUT_MENU] = "menu",
		[INPUT_WHEEL_UP] = "up",
		[INPUT_WHEEL_DOWN] = "down",
		[INPUT_PASTE] = "p"};
	struct str got = {0};
	input_decoder_feed(decoder, bytes, strlen(bytes));
	for (;;) {
		struct input input = input_decoder_next(decoder, now_ms, ends);
		if (!input.kind)
			break;
		str_printf(&got, "%s%s", got.len ? " " : "", kinds[input.kind]);
		if (input.kind == INPUT_KEY || input.kind == INPUT_PASTE)
			str_printf(&got, "%x", input.key);
		else
			str_printf(&got, "@%d,%d", input.x, input.y);
	}
	CHECK_STR(str_text(&got), wanted);
	str_deinit(&got);
}

static void alone(const char *bytes, const char *wanted)
{
	struct input_decoder decoder = {0};
	decode(&decoder, bytes, 1, true, wanted);
	input_decoder_deinit(&decoder);
}

static void key(const char *bytes, uint32_t key)
{
	struct str wanted = {0};
	str_printf(&wanted, "k%x", key);
	alone(bytes, str_text(&wanted));
	str_deinit(&wanted);
}

TEST(keys_of_all_sorts_of_terminals)
{
	key("\033[A", INPUT_UP);
	key("\033OA", INPUT_UP);
	key("\033[1;5B", INPUT_DOWN);
	key("\033[5~", INPUT_PAGE_UP);
	key("\033[6~", INPUT_PAGE_DOWN);
	key("\033[1~", INPUT_HOME);
	key("\033[7~", INPUT_HOME);
	key("\033OH", INPUT_HOME);
	key("\033[4~", INPUT_END);
	key("\033[3~", INPUT_DELETE);
	key("\033[Z", INPUT_BACK_TAB);
	key("\033OP", INPUT_F1);
	key("\033[11~", INPUT_F1);
	key("\033[[A", INPUT_F1);
	key("\033OM", INPUT_ENTER);
	key("\033Oq", '1');
	key("\r", INPUT_ENTER);
	key("\x7f", INPUT_BACKSPACE);
	key("\b", INPUT_BACKSPACE);
	key("\033[24~", INPUT_OTHER);
	key("\033[>0;276;0c", INPUT_OTHER);
	key("ö", 0xf6);
	key("語", 0x8a9e);
}

TEST(escape_is_a_key_when_nothing_follows)
{
	struct input_decoder decoder = {0};
	decode(&decoder, "\033", 1, false, "");
	CHECK(input_decoder_is_open(&decoder));
	decode(&decoder, "[A", 1, false, "k110000");
	decode(&decoder, "\033", 1, true, "k1b");
	decode(&decoder, "\033x", 1, false, "k1b k78");
	decode(&decoder, "\033\033[A", 1, false, "k1b k110000");
	input_decoder_deinit(&decoder);
}

TEST(bytes_that_are_no_characters)
{
	struct input_decoder decoder = {0};
	struct str other = {0};
	str_printf(&other, "k%x", INPUT_OTHER);
	decode(&decoder, "\xff", 1, false, str_text(&other));
	decode(&decoder, "\xc3", 1, false, "");
	decode(&decoder, "\xb6", 1, false, "kf6");
	decode(&decoder, "\xc3", 1, true, str_text(&other));
	decoder.is_ascii = true;
	decode(&decoder, "\xe9", 1, false, str_text(&other));
	str_deinit(&other);
	input_decoder_deinit(&decoder);
}

TEST(no_sequence_is_endless)
{
	struct input_decoder decoder = {0};
	char bytes[5001] = "\033[";
	memset(bytes + 2, '1', sizeof(bytes) - 3);
	input_decoder_feed(&decoder, bytes, strlen(bytes));
	int count = 0;
	while (input_decoder_next(&decoder, 1, false).kind)
		count++;
	CHECK(count > 4000);
	CHECK(!input_decoder_is_open(&decoder));
	input_decoder_deinit(&decoder);
}

TEST(the_mouse)
{
	alone("\033[<0;5;3M\033[<0;5;3m", "press@4,2 release@4,2");
	alone("\033[<32;6;3M", "drag@5,2");
	alone("\033[<2;1;1M", "menu@0,0");
	alone("\033[<64;1;1M\033[<65;1;1M", "up@0,0 down@0,0");
	alone("\033[<4;300;200M", "press@299,199"); /* with shift, far away */
	alone("\033[M %#\033[M#%#", "press@4,2 release@4,2");
	alone("\033[M`!!\033[M\"!!", "up@0,0 menu@0,0");
	alone("\033[<0;99999999999999;0M", "press@0,0");
}

TEST(two_presses_are_a_double_click)
{
	struct input_decoder decoder = {0};
	decode(&decoder, "\033[<0;5;3M", 1000, false, "press@4,2");
	decode(&decoder, "\033[<0;5;3M", 1300, false, "double@4,2");
	decode(&decoder, "\033[<0;5;3M", 1400, false, "press@4,2");
	decode(&decoder, "\033[<0;5;3M", 2000, false, "press@4,2");
	decode(&decoder, "\033[<0;6;3M", 2100, false, "press@5,2");
	input_decoder_deinit(&decoder);
}

TEST(what_is_pasted_is_no_command)
{
	struct input_decoder decoder = {0};
	decode(&decoder, "\033[200~q\n\033[A", 1, false, "p11000c p71 pa p110000");
	decode(&decoder, "\033[20", 1, true, "");
	decode(&decoder, "1~q", 1, true, "k11000c k71");
	decode(&decoder, "\033[200~q\003q", 1, true, "p11000c p71 k3 k71");
	input_decoder_deinit(&decoder);
}

TEST(keys_of_one_terminal_alone)
{
	struct input_decoder decoder = {0};
	input_decoder_add(&decoder, "\033[214z", INPUT_HOME);
	input_decoder_add(&decoder, NULL, INPUT_END);
	input_decoder_add(&decoder, (const char *)-1, INPUT_END);
	decode(&decoder, "\033[21", 1, false, "");
	decode(&decoder, "4z\033[A", 1, false, "k110006 k110000");
	input_decoder_deinit(&decoder);
}
