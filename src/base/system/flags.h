/*
 * flags - the command line of every role, parsed from a table.
 *
 *	struct greet_options {
 *		const char *name;
 *		int64_t times;
 *	};
 *	static const struct flag greet_flags[] = {
 *		{ "name", 'n', FLAG_STRING(struct greet_options, name), .arg = "NAME",
 *		  .help = "whom to greet", .required = true },
 *		{ "times", 0, FLAG_INT(struct greet_options, times), .arg = "COUNT",
 *		  .help = "how often", .initial = "1", .min = 1, .max = 100 },
 *		{ NULL },
 *	};
 *
 * Flags are written as GNU programs and kubectl take them: --name VALUE,
 * --name=VALUE, -n VALUE, -nVALUE, -n=VALUE; a boolean as --watch or
 * --watch=false, and so any flag that means something alone; letters of
 * booleans may share a dash. Flags and operands may be mixed; behind "--" all
 * are operands. A flag given twice keeps its last value, except that lists
 * add up. --help and -h always exist.
 *
 * Nothing here prints or exits. Texts found are borrowed from argv and from
 * the table; lists live in the caller's arena.
 */
#ifndef BASE_SYSTEM_FLAGS_H
#define BASE_SYSTEM_FLAGS_H

#include "base/core/arena.h"
#include "base/core/buf.h"

enum flag_kind {
	FLAG_KIND_BOOL,
	FLAG_KIND_STRING,
	FLAG_KIND_INT,
	FLAG_KIND_DURATION, /* as Go writes them: "15s", "1h30m", "300ms" */
	FLAG_KIND_LIST, /* given repeatedly, or separated by commas */
	FLAG_KIND_REPEAT, /* given repeatedly; a comma is part of a value */
};

/* The values of a list or repeated flag, and the operands. Texts are terminated. */
struct flag_list {
	const char **v;
	size_t n;
};

/* One row; a table ends with a row that has no name. */
struct flag {
	const char *name; /* without the dashes */
	char letter; /* the short form, or 0 */
	enum flag_kind kind; /* these two are set by FLAG_BOOL and its kin */
	size_t offset;
	const char *arg; /* what help calls the value: "FILE", "PORT" */
	const char *choices; /* "text|json": the only values allowed; NULL: all */
	const char *usual; /* the same for values that are only offered, by completion; or NULL */
	const char *initial; /* the value when none is given, as one would write it */
	const char *alone; /* what the flag means without a value, which then needs "="; or NULL */
	const char *help;
	int64_t min, max; /* bounds of an integer or of nanoseconds; both 0: none */
	bool required;
	bool seconds; /* a duration may be a plain number, of them */
};

/* Kind and place of an option at once, so that they cannot disagree. */
#define FLAG_BOOL(type, member)     FLAG_OPTION(BOOL, type, member, bool)
#define FLAG_STRING(type, member)   FLAG_OPTION(STRING, type, member, const char *)
#define FLAG_INT(type, member)      FLAG_OPTION(INT, type, member, int64_t)
#define FLAG_DURATION(type, member) FLAG_OPTION(DURATION, type, member, int64_t) /* nanoseconds */
#define FLAG_LIST(type, member)     FLAG_OPTION(LIST, type, member, struct flag_list)
#define FLAG_REPEAT(type, member)   FLAG_OPTION(REPEAT, type, member, struct flag_list)

/* An array of negative size does not compile: it says that the member has the wrong type. */
#define FLAG_OPTION(suffix, type, member, want) \
	.kind = FLAG_KIND_##suffix,             \
	.offset = offsetof(type, member) * sizeof(char[FLAG_IS(type, member, want) ? 1 : -1])
#define FLAG_IS(type, member, want) \
	__builtin_types_compatible_p(__typeof__(((type *)NULL)->member), want)

/* One parse: fill the first three, call flags_parse, read the rest. */
struct flags {
	const struct flag *table; /* NULL: no flags but --help */
	void *options; /* the struct that the table's offsets are in */
	struct arena *arena; /* must outlive the options' lists and the operands */

	struct flag_list operands; /* what was not a flag, in order */
	bool help; /* --help or -h was given: nothing was required */
};

/*
 * Sets every option to its initial value, then to what argv says (argv[0] is
 * the first argument, not the program). -ERR_BAD_REQUEST names the flag, what
 * is wrong with it and, for a mistyped one, what was probably meant; options
 * are then partly set.
 */
int flags_parse(struct flags *f, int argc, char *const *argv, struct error *err);

/* The row of --help, which tables do not have but every command does. */
extern const struct flag flags_help_row;

/* The same without its letter when a flag of the table has that. */
struct flag flags_help_of(const struct flag *table);

/* Whether the argument behind the flag is its value, where none is attached. */
bool flags_wants_value(const struct flag *flag);

/* Appends what help calls the flag's value, such as "FILE" or "URL,.."; nothing for a boolean. */
void flags_value(const struct flag *flag, struct buf *out);

/* Appends its help with "(required)" or its initial value. */
void flags_about(const struct flag *flag, struct buf *out);

/* Appends the table as aligned text, --help included, wrapped to `width`. */
void flags_help(const struct flag *table, size_t width, struct buf *out);

#endif
