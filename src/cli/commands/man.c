/*
 * `devplane man COMMAND ..`: prints one man page from the command table, or writes all of them for
 * installation.
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/system/version.h"
#include "cli/commands/commands.h"
#include "cli/program/cli.h"
#include "cli/program/man.h"

/* Pages grow only with our own table. */
#define PAGE_MAX (1UL * MIB)
enum { WORDS_MAX = 8 /* our longest path has four */ };

struct man_options {
	const char *dir;
};

static const struct flag flags[] = {
	{ "dir", 0, FLAG_STRING(struct man_options, dir), .arg = "DIR",
	  .help = "write the pages of all commands into this folder instead" },
	{ NULL },
};

/* The date of the pages: $SOURCE_DATE_EPOCH if a build sets it. */
static int64_t date(void)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	int64_t seconds;

	if (epoch && str_to_i64(str_from(epoch), &seconds) && seconds >= 0)
		return seconds;
	return clock_wall(clock_system()) / CLOCK_SEC;
}

/* The state while all pages are written. */
struct writing {
	const struct man_opts *opts;
	const char *dir;
	struct error *err;
	int r;
};

/* The words after the root's name; modifies `text`. */
static size_t man_split(char *text, const char *words[WORDS_MAX])
{
	size_t n = 0;

	for (char *space = strchr(text, ' '); space && n < WORDS_MAX; space = strchr(space, ' ')) {
		*space++ = '\0';
		words[n++] = space;
	}
	return n;
}

/* Pages can be generated again: no need to sync the disk. */
static int write_file(const char *path, struct str content, struct error *err)
{
	FILE *f = fopen(path, "we");
	bool ok = f && fwrite(content.p, 1, content.n, f) == content.n;

	if (f && fclose(f) != 0)
		ok = false;
	return ok ? 0 : error_set_errno(err, ERR_IO, errno, "cannot write %s", path);
}

static void write_page(void *ctx, const struct command *c UNUSED, const char *path)
{
	CLEANUP(buf_release) struct buf page = BUF_INIT(PAGE_MAX);
	CLEANUP(buf_release) struct buf file = BUF_INIT(4 * KIB);
	struct writing *w = ctx;
	const char *words[WORDS_MAX];
	char *text;

	if (w->r < 0)
		return;
	text = str_dup(str_from(path));
	w->r = man_page(w->opts, words, man_split(text, words), &page, w->err);
	free(text);
	(void)buf_printf(&file, "%s/", w->dir);
	man_file(path, &file);
	if (w->r == 0)
		w->r = write_file(file.p, buf_str(&page), w->err);
}

static int man_run(struct cli *cli, struct error *err)
{
	CLEANUP(buf_release) struct buf page = BUF_INIT(PAGE_MAX);
	const struct man_options *o = cli->options;
	struct man_opts opts = { .root = cli->root,
				 .version = version_get()->version,
				 .date = date() };
	struct writing w = { .opts = &opts, .dir = o->dir, .err = err };
	int r;

	if (o->dir && cli->operands.n > 0)
		return cli_bad_usage(cli, err,
				     "--dir writes the pages of all commands: do not name one");
	if (o->dir) {
		(void)mkdir(o->dir, 0755);
		command_walk(cli->root, write_page, &w);
		return w.r;
	}
	r = man_page(&opts, cli->operands.v, cli->operands.n, &page, err);
	if (r < 0) {
		cli->bad_usage = true;
		return r;
	}
	(void)fwrite(page.p, 1, page.n, cli->out);
	return 0;
}

const struct command cmd_man = {
	.name = "man",
	.summary = "print the man page of a command",
	.usage = "[COMMAND ..] [FLAGS]",
	.about = "Prints the source that man(1) reads. The page has the text of --help, and also "
		 "exit status, environment variables and files.",
	.examples = "devplane man server | man -l -\n"
		    "devplane man --dir /usr/local/share/man/man1",
	.group = COMMAND_ABOUT,
	.flags = flags,
	.options_size = sizeof(struct man_options),
	.operands_max = COMMAND_ANY,
	.run = man_run,
};
