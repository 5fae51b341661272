/*
 * One tree, several notations. All of it is laid out before any is written, so
 * that a failure leaves no half of it behind.
 */
#include "cli/output.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/yaml.h"

/* Beyond any list that a cluster of ours holds; a limit must be named. */
#define OUTPUT_MAX (1024UL * MIB)

static int json_text(struct buf *text, const struct json *tree, struct error *err)
{
	static const struct json_style style = { .indent = 4 };

	(void)json_print(text, tree, &style);
	(void)buf_addc(text, '\n');
	if (text->overflow)
		return error_set(err, ERR_TOO_LARGE, "the output exceeds %lu MiB",
				 OUTPUT_MAX / MIB);
	return 0;
}

int output_tree(struct cli *cli, const char *format, const struct json *tree, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OUTPUT_MAX);
	int r;

	if (strcmp(format, "yaml") == 0)
		r = yaml_print(&text, tree, NULL, err);
	else
		r = json_text(&text, tree, err);
	if (r < 0)
		return r;
	(void)fwrite(text.p, 1, text.n, cli->out);
	return 0;
}

void output_table(struct cli *cli, struct str lines, bool headed)
{
	if (headed && cli->out_colour) {
		size_t n = (size_t)str_chr(lines, '\n');

		(void)fprintf(cli->out, "\033[1m%.*s\033[0m", (int)n, lines.p);
		lines = str_skip(lines, n);
	}
	(void)fwrite(lines.p, 1, lines.n, cli->out);
}

static bool is_control(uint32_t c)
{
	return c < ' ' || (c >= 0x7f && c < 0xa0);
}

void output_clean_text(struct buf *out, struct str text, const char *keep)
{
	for (size_t at = 0; at < text.n;) {
		struct str raw = str_skip(text, at);
		size_t from = at;
		uint32_t c = str_rune(text, &at);

		raw.n = at - from;
		if (c == '\033')
			(void)buf_addz(out, "^[");
		else if (is_control(c) && (c == 0 || c > ' ' || !strchr(keep, (int)c)))
			(void)buf_addc(out, ' ');
		else if (c == 0xfffd)
			(void)buf_addz(out, "\xef\xbf\xbd");
		else
			(void)buf_add_str(out, raw);
	}
}

void output_clean(struct buf *out, struct str text)
{
	size_t n = 0;

	while (n < text.n && !strchr("\n\r\f", text.p[n] ? text.p[n] : ' '))
		n++;
	output_clean_text(out, str_of(text.p, n), "");
	if (n < text.n)
		(void)buf_addz(out, "...");
}
