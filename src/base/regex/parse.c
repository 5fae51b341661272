/*
 * A recursive descent parser that makes one tree. It rejects the same patterns as Go's
 * regexp/syntax, with the same messages, so that an author of a pattern gets the same answer as
 * from Kubernetes.
 */
#include "base/core/limits.h"
#include "base/regex/regex_impl.h"

enum flag { FOLD = 1, LINES = 2, DOT_ALL = 4, UNGREEDY = 8 };

struct parser {
	struct regex_work *work;
	struct str text;
	size_t at;
	unsigned flags;
	unsigned depth;
	struct error *err;
};

static int parse_alternatives(struct parser *p, struct regex_node **ret_node);

/* --- failing ---------------------------------------------------------------------- */

int regex_refuse(struct error *err, const char *why, struct str part)
{
	return error_set(err, ERR_BAD_REQUEST, "error parsing regexp: %s: `%.*s`", why,
			 STR_ARG(part));
}

static int parse_refuse(struct parser *p, const char *why, struct str part)
{
	return regex_refuse(p->err, why, part);
}

static struct str since(const struct parser *p, size_t from)
{
	return str_of(p->text.p + from, MIN(p->at, p->text.n) - from);
}

/* --- small things ----------------------------------------------------------------- */

static bool at_end(const struct parser *p)
{
	return p->at >= p->text.n;
}

static char peek(const struct parser *p)
{
	return at_end(p) ? '\0' : p->text.p[p->at];
}

static bool looks_at(const struct parser *p, const char *z)
{
	return str_starts(str_skip(p->text, p->at), str_from(z));
}

static bool parse_take(struct parser *p, const char *z)
{
	if (!looks_at(p, z))
		return false;
	p->at += strlen(z);
	return true;
}

static struct regex_node *node_new(struct parser *p, enum regex_op op)
{
	struct regex_node *node = ARENA_NEW(&p->work->arena, struct regex_node);

	node->op = op;
	return node;
}

static void node_add(struct regex_node *parent, struct regex_node *child)
{
	child->prev = parent->last;
	if (parent->last)
		parent->last->next = child;
	else
		parent->first = child;
	parent->last = child;
}

static struct regex_node *node_of_set(struct parser *p, struct regex_set *set, bool negated)
{
	struct regex_node *node = node_new(p, REGEX_CHAR);

	node->class = regex_set_finish(set, negated);
	return node;
}

/*
 * Adds a part of a class, or all else. Letters are folded before they are negated: "not a
 * letter of this word" excludes both cases of each.
 */
static void add_part(struct parser *p, struct regex_set *set, struct regex_set *part, bool negated)
{
	if (p->flags & FOLD)
		regex_set_fold(part);
	regex_set_add_set(set, part, negated);
}

static void add_range(struct parser *p, struct regex_set *set, uint32_t low, uint32_t high)
{
	struct regex_set part = { .work = p->work };

	if (!(p->flags & FOLD)) {
		regex_set_add(set, low, high);
		return;
	}
	regex_set_add(&part, low, high);
	add_part(p, set, &part, false);
}

static void add_named(struct parser *p, struct regex_set *set, const struct regex_named *class,
		      bool negated)
{
	struct regex_set part = { .work = p->work };

	regex_set_add_all(&part, class->ranges, class->n, false);
	add_part(p, set, &part, negated);
}

static struct regex_node *node_of_char(struct parser *p, uint32_t c)
{
	struct regex_set set = { .work = p->work };

	add_range(p, &set, c, c);
	return node_of_set(p, &set, false);
}

static struct regex_node *node_of_dot(struct parser *p)
{
	struct regex_set set = { .work = p->work };

	if (p->flags & DOT_ALL) {
		regex_set_add(&set, 0, REGEX_RUNE_MAX);
	} else {
		regex_set_add(&set, 0, '\n' - 1);
		regex_set_add(&set, '\n' + 1, REGEX_RUNE_MAX);
	}
	return node_of_set(p, &set, false);
}

/* --- escapes ---------------------------------------------------------------------- */

/* Behind "\x". False when it is no number. */
static bool take_hex(struct parser *p, uint32_t *ret_rune)
{
	bool braced = parse_take(p, "{");
	size_t digits = 0;
	uint32_t c = 0;

	while (str_hex_digit(peek(p)) >= 0 && (braced || digits < 2)) {
		c = c * 16 + (uint32_t)str_hex_digit(peek(p));
		p->at++;
		digits++;
		if (c > REGEX_RUNE_MAX)
			return false;
	}
	*ret_rune = c;
	return braced ? digits > 0 && parse_take(p, "}") : digits == 2;
}

static bool take_octal(struct parser *p, char first, uint32_t *ret_rune)
{
	uint32_t c = (uint32_t)(first - '0');

	/* A single digit would be a back reference. */
	if (first != '0' && (peek(p) < '0' || peek(p) > '7'))
		return false;
	for (size_t i = 1; i < 3 && peek(p) >= '0' && peek(p) <= '7'; i++)
		c = c * 8 + (uint32_t)(p->text.p[p->at++] - '0');
	*ret_rune = c;
	return true;
}

/* One character that is written with a backslash; p is at the backslash. */
static int take_escape(struct parser *p, uint32_t *ret_rune)
{
	static const char letters[] = "aftnrv", values[] = "\a\f\t\n\r\v";
	size_t from = p->at++;
	const char *letter;
	uint32_t c;
	bool ok = false;

	if (at_end(p))
		return parse_refuse(p, "trailing backslash at end of expression", STR(""));
	c = str_rune(p->text, &p->at);
	letter = c && c < 128 ? strchr(letters, (int)c) : NULL;
	if (letter) {
		*ret_rune = (uint32_t)values[letter - letters];
		ok = true;
	} else if (c == 'x') {
		ok = take_hex(p, ret_rune);
	} else if (c >= '0' && c <= '7') {
		ok = take_octal(p, (char)c, ret_rune);
	} else if (c < 128 && !regex_is_word(c)) {
		*ret_rune = c;
		ok = true;
	}
	return ok ? 0 : parse_refuse(p, "invalid escape sequence", since(p, from));
}

/* \d, \S and such. False when the text is no such class. */
static bool take_perl_class(struct parser *p, struct regex_set *set)
{
	const struct regex_named *class;
	char c;

	if (peek(p) != '\\' || p->at + 1 >= p->text.n)
		return false;
	c = p->text.p[p->at + 1];
	class = regex_perl_class((char)(c | 0x20));
	if (!class || (c & ~0x20) < 'A')
		return false;
	p->at += 2;
	add_named(p, set, class, !(c & 0x20));
	return true;
}

/* Behind "\p": the name and whether all else is meant. False: it has no end. */
static bool take_property_name(struct parser *p, struct str *ret_name, bool *ret_negated)
{
	struct str name = str_skip(p->text, p->at);
	ptrdiff_t end;

	if (peek(p) == '{') {
		end = str_chr(name, '}');
		if (end < 0)
			return false;
		p->at += (size_t)end + 1;
		name = str_of(name.p + 1, (size_t)end - 1);
	} else {
		(void)str_rune(p->text, &p->at);
		name.n = (size_t)(p->text.p + p->at - name.p);
	}
	*ret_negated = name.n && name.p[0] == '^';
	*ret_name = str_skip(name, *ret_negated);
	return true;
}

/* \pL, \P{Lu}, \p{^Greek}. 1 when it was one, 0 when not. */
static int take_property(struct parser *p, struct regex_property **ret_property, bool *ret_negated)
{
	bool others = looks_at(p, "\\P"), negated;
	struct regex_property *property;
	size_t from = p->at;
	struct str name;

	if (!looks_at(p, "\\p") && !others)
		return 0;
	p->at += 2;
	if (at_end(p))
		return parse_refuse(p, "invalid character class range", since(p, from));
	if (!take_property_name(p, &name, &negated))
		return parse_refuse(p, "invalid character class range", str_skip(p->text, from));
	property = regex_property(p->work, name, p->flags & FOLD);
	if (!property)
		return parse_refuse(p, "invalid character class range", since(p, from));
	*ret_property = property;
	*ret_negated = negated != others;
	return 1;
}

/* --- classes ---------------------------------------------------------------------- */

/* [:alpha:] or [:^alpha:]. 1 when it was one, 0 when not. */
static int take_posix_class(struct parser *p, struct regex_set *set)
{
	struct str rest = str_skip(p->text, p->at), name;
	const struct regex_named *class;
	bool negated;
	ptrdiff_t end;

	if (!looks_at(p, "[:"))
		return 0;
	end = str_find(str_skip(rest, 2), STR(":]"));
	if (end < 0)
		return 0;
	name = str_of(rest.p + 2, (size_t)end);
	negated = name.n && name.p[0] == '^';
	class = regex_posix_class(str_skip(name, negated));
	if (!class)
		return parse_refuse(p, "invalid character class range",
				    str_of(rest.p, (size_t)end + 4));
	p->at += (size_t)end + 4;
	add_named(p, set, class, negated);
	return 1;
}

static int take_class_char(struct parser *p, size_t class_from, uint32_t *ret_rune)
{
	if (at_end(p))
		return parse_refuse(p, "missing closing ]", str_skip(p->text, class_from));
	if (peek(p) == '\\')
		return take_escape(p, ret_rune);
	*ret_rune = str_rune(p->text, &p->at);
	return 0;
}

static int take_class_range(struct parser *p, size_t class_from, struct regex_set *set)
{
	size_t from = p->at;
	uint32_t low = 0, high;
	int r;

	r = take_class_char(p, class_from, &low);
	if (r < 0)
		return r;
	high = low;
	/* A '-' at the end stands for itself. */
	if (looks_at(p, "-") && p->at + 1 < p->text.n && p->text.p[p->at + 1] != ']') {
		p->at++;
		r = take_class_char(p, class_from, &high);
		if (r < 0)
			return r;
		if (high < low)
			return parse_refuse(p, "invalid character class range", since(p, from));
	}
	add_range(p, set, low, high);
	return 0;
}

/* One thing between the brackets. */
static int take_class_item(struct parser *p, size_t class_from, struct regex_set *set)
{
	struct regex_property *property;
	int r = take_posix_class(p, set);
	bool negated;

	if (r == 0) {
		r = take_property(p, &property, &negated);
		if (r > 0)
			regex_set_add_set(set, &property->set, negated);
	}
	if (r != 0)
		return r < 0 ? r : 0;
	return take_perl_class(p, set) ? 0 : take_class_range(p, class_from, set);
}

static int parse_class(struct parser *p, struct regex_node **ret_node)
{
	struct regex_set set = { .work = p->work };
	size_t from = p->at++;
	bool negated = parse_take(p, "^"), first = true;
	int r;

	while (first || peek(p) != ']' || at_end(p)) {
		if (at_end(p))
			return parse_refuse(p, "missing closing ]", str_skip(p->text, from));
		first = false;
		r = take_class_item(p, from, &set);
		if (r < 0)
			return r;
		if (regex_work_is_full(p->work))
			return parse_refuse(p, "expression too large", p->text);
	}
	p->at++;
	*ret_node = node_of_set(p, &set, negated);
	return 0;
}

/* --- groups ----------------------------------------------------------------------- */

static bool is_group_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!regex_is_word((unsigned char)name.p[i]))
			return false;
	return name.n > 0;
}

/* (?P<name> or (?<name>; p is behind the "(?". */
static int take_name(struct parser *p, size_t from)
{
	struct str rest = str_skip(p->text, from);
	ptrdiff_t end = str_chr(rest, '>');
	struct str name;

	if (end < 0)
		return parse_refuse(p, "invalid named capture", rest);
	p->at += peek(p) == 'P' ? 2 : 1;
	name = str_of(p->text.p + p->at, from + (size_t)end - p->at);
	if (!is_group_name(name))
		return parse_refuse(p, "invalid named capture", str_of(rest.p, (size_t)end + 1));
	p->at = from + (size_t)end + 1;
	return 0;
}

static unsigned flag_of(char c)
{
	switch (c) {
	case 'i':
		return FOLD;
	case 'm':
		return LINES;
	case 's':
		return DOT_ALL;
	case 'U':
		return UNGREEDY;
	default:
		return 0;
	}
}

/* i, m, s, U behind "(?" up to ':' or ')'. *ret_group: a group follows. */
static int take_flags(struct parser *p, size_t from, bool *ret_group)
{
	bool clear = false, any = false;
	unsigned flags = p->flags;

	while (!at_end(p)) {
		char c = p->text.p[p->at];
		unsigned flag = flag_of(c);

		(void)str_rune(p->text, &p->at);
		if (c == ':' || c == ')') {
			if (clear && !any)
				break;
			p->flags = flags;
			*ret_group = c == ':';
			return 0;
		}
		if (!flag && (c != '-' || clear))
			break;
		if (c == '-') {
			clear = true;
			any = false;
			continue;
		}
		any = true;
		flags = clear ? flags & ~flag : flags | flag;
	}
	if (at_end(p) && flag_of(p->text.p[p->text.n - 1]))
		return parse_refuse(p, "missing closing )", p->text);
	return parse_refuse(p, "invalid or unsupported Perl syntax", since(p, from));
}

/* p is at "(". *ret_node stays NULL for flags alone, which hold up to the end of the group. */
static int parse_group(struct parser *p, struct regex_node **ret_node)
{
	unsigned flags = p->flags;
	size_t from = p->at++;
	bool group = true;
	int r = 0;

	if (parse_take(p, "?"))
		r = looks_at(p, "P<") ||
				    (looks_at(p, "<") && !looks_at(p, "<=") && !looks_at(p, "<!"))
			    ? take_name(p, from)
			    : take_flags(p, from, &group);
	if (r < 0 || !group)
		return r;
	r = parse_alternatives(p, ret_node);
	if (r < 0)
		return r;
	if (!parse_take(p, ")"))
		return parse_refuse(p, "missing closing )", p->text);
	p->flags = flags;
	return 0;
}

/* --- atoms ------------------------------------------------------------------------ */

/* \A \z \b \B. Returns NULL for any other text. */
static struct regex_node *take_anchor(struct parser *p)
{
	if (parse_take(p, "\\A"))
		return node_new(p, REGEX_BEGIN_TEXT);
	if (parse_take(p, "\\z"))
		return node_new(p, REGEX_END_TEXT);
	if (parse_take(p, "\\b"))
		return node_new(p, REGEX_WORD);
	return parse_take(p, "\\B") ? node_new(p, REGEX_NOT_WORD) : NULL;
}

static int parse_backslash(struct parser *p, struct regex_node **ret_node)
{
	struct regex_set set = { .work = p->work };
	struct regex_property *property;
	bool negated;
	uint32_t c = 0;
	int r;

	*ret_node = take_anchor(p);
	if (*ret_node)
		return 0;
	if (take_perl_class(p, &set)) {
		*ret_node = node_of_set(p, &set, false);
		return 0;
	}
	r = take_property(p, &property, &negated);
	if (r > 0) {
		*ret_node = node_new(p, REGEX_CHAR);
		(*ret_node)->class = regex_property_class(property, negated);
	}
	if (r != 0)
		return r < 0 ? r : 0;
	r = take_escape(p, &c);
	if (r == 0)
		*ret_node = node_of_char(p, c);
	return r;
}

static int parse_atom(struct parser *p, struct regex_node **ret_node)
{
	switch (peek(p)) {
	case '(':
		return parse_group(p, ret_node);
	case '[':
		return parse_class(p, ret_node);
	case '\\':
		return parse_backslash(p, ret_node);
	case '.':
		p->at++;
		*ret_node = node_of_dot(p);
		return 0;
	case '^':
		p->at++;
		*ret_node = node_new(p, p->flags & LINES ? REGEX_BEGIN_LINE : REGEX_BEGIN_TEXT);
		return 0;
	case '$':
		p->at++;
		*ret_node = node_new(p, p->flags & LINES ? REGEX_END_LINE : REGEX_END_TEXT);
		return 0;
	default:
		*ret_node = node_of_char(p, str_rune(p->text, &p->at));
		return 0;
	}
}

/* --- repetition ------------------------------------------------------------------- */

static bool take_count(struct parser *p, int *ret_count)
{
	size_t from = p->at;
	int n = 0;

	/* Too large counts are rejected later; here they only must not overflow. */
	while (peek(p) >= '0' && peek(p) <= '9') {
		n = MIN(n * 10 + (p->text.p[p->at] - '0'), 100000000);
		p->at++;
	}
	/* No leading zeros. */
	if (p->at == from || (p->text.p[from] == '0' && p->at > from + 1))
		return false;
	*ret_count = n;
	return true;
}

/* {n}, {n,}, {n,m}. False, with nothing taken, when it is something else: then { is a character. */
static bool take_counts(struct parser *p, int *ret_min, int *ret_max)
{
	size_t from = p->at;
	bool ok;

	p->at++;
	ok = take_count(p, ret_min);
	*ret_max = *ret_min;
	if (ok && parse_take(p, ",")) {
		*ret_max = -1;
		if (peek(p) != '}')
			ok = take_count(p, ret_max);
	}
	if (ok && parse_take(p, "}"))
		return true;
	p->at = from;
	return false;
}

static bool take_repeat(struct parser *p, int *ret_min, int *ret_max)
{
	char c = peek(p);

	*ret_min = c == '+';
	*ret_max = c == '?' ? 1 : -1;
	if (c == '{')
		return take_counts(p, ret_min, ret_max);
	if (c != '*' && c != '+' && c != '?')
		return false;
	p->at++;
	return true;
}

/* Whether counts within counts stay below the limit. */
static bool counts_fit(const struct regex_node *node, int left)
{
	if (node->op == REGEX_REPEAT) {
		int n = node->max < 0 ? node->min : node->max;

		if (node->max == 0)
			return true;
		if (n > left)
			return false;
		left = n > 0 ? left / n : left;
	}
	for (const struct regex_node *child = node->first; child; child = child->next)
		if (!counts_fit(child, left))
			return false;
	return true;
}

static bool are_counts(int min, int max)
{
	return min <= REGEX_REPEAT_MAX && max <= REGEX_REPEAT_MAX && (max < 0 || max >= min);
}

/* Wraps the last node into the repetition that follows. Two in a row are rejected. */
static int parse_repeat(struct parser *p, struct regex_node *cat)
{
	struct regex_node *inner = ARENA_NEW(&p->work->arena, struct regex_node), *last = cat->last;
	size_t from = p->at, second;
	int min, max;
	bool lazy;

	if (!take_repeat(p, &min, &max))
		return 0;
	if (!are_counts(min, max))
		return parse_refuse(p, "invalid repeat count", since(p, from));
	lazy = parse_take(p, "?") != !!(p->flags & UNGREEDY);
	if (!last)
		return parse_refuse(p, "missing argument to repetition operator", since(p, from));
	/* In its place, so that its siblings keep their link. */
	*inner = *last;
	*last = (struct regex_node){ .op = REGEX_REPEAT,
				     .min = min,
				     .max = max,
				     .lazy = lazy,
				     .next = inner->next,
				     .prev = inner->prev };
	inner->next = NULL;
	node_add(last, inner);
	if ((min >= 2 || max >= 2) && !counts_fit(last, REGEX_REPEAT_MAX))
		return parse_refuse(p, "invalid repeat count", since(p, from));
	second = p->at;
	if (!take_repeat(p, &min, &max))
		return 0;
	if (!are_counts(min, max))
		return parse_refuse(p, "invalid repeat count", since(p, second));
	(void)parse_take(p, "?");
	return parse_refuse(p, "invalid nested repetition operator", since(p, from));
}

static int parse_sequence(struct parser *p, struct regex_node **ret_node)
{
	struct regex_node *cat = node_new(p, REGEX_CAT), *atom;
	int r;

	/* Flags alone are not an atom: a repetition after them repeats what was before. */
	for (r = parse_repeat(p, cat); r == 0; r = parse_repeat(p, cat)) {
		if (at_end(p) || peek(p) == '|' || peek(p) == ')')
			break;
		/* \Q..\E, whose end may be missing: characters that stand for themselves. */
		if (parse_take(p, "\\Q")) {
			while (!at_end(p) && !parse_take(p, "\\E"))
				node_add(cat, node_of_char(p, str_rune(p->text, &p->at)));
			continue;
		}
		atom = NULL;
		r = parse_atom(p, &atom);
		if (r < 0)
			return r;
		if (regex_work_is_full(p->work))
			return parse_refuse(p, "expression too large", p->text);
		if (atom)
			node_add(cat, atom);
	}
	*ret_node = cat;
	return r;
}

static int parse_alternatives(struct parser *p, struct regex_node **ret_node)
{
	struct regex_node *alt = node_new(p, REGEX_ALT), *branch = NULL;
	int r;

	if (++p->depth > REGEX_DEPTH_MAX)
		return parse_refuse(p, "expression nests too deeply", p->text);
	do {
		r = parse_sequence(p, &branch);
		if (r < 0)
			return r;
		node_add(alt, branch);
	} while (parse_take(p, "|"));
	p->depth--;
	*ret_node = alt->first == alt->last ? alt->first : alt;
	return 0;
}

int regex_parse(struct regex_work *work, struct str pattern, struct regex_node **ret_node,
		struct error *err)
{
	struct parser p = { .work = work, .text = pattern, .err = err };
	int r;

	if (pattern.n > REGEX_PATTERN_MAX)
		return error_set(err, ERR_BAD_REQUEST,
				 "error parsing regexp: expression too large");
	if (!str_is_utf8(pattern))
		return parse_refuse(&p, "invalid UTF-8", pattern);
	r = parse_alternatives(&p, ret_node);
	if (r < 0)
		return r;
	return at_end(&p) ? 0 : parse_refuse(&p, "unexpected )", p.text);
}
