/*
 * A version has three numbers, and borrows the text after '-' and '+', which is only parsed if two
 * versions have the same numbers.
 */
#include "cel/core/semver.h"

#include "base/text/quote.h"

static bool all_in(struct str s, bool letters)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!str_is_digit(c) && !(letters && (str_is_letter(c) || c == '-')))
			return false;
	}
	return true;
}

static int semver_read_number(struct str s, const char *what, uint64_t *ret_number,
			      struct error *err)
{
	char text[QUOTE_SIZE];

	if (!all_in(s, false))
		return error_set(err, ERR_INVALID, "Invalid character(s) found in %s number %s",
				 what, quote_text(s, text));
	if (s.n > 1 && s.p[0] == '0')
		return error_set(err, ERR_INVALID, "%c%s number must not contain leading zeroes %s",
				 what[0] - 'a' + 'A', what + 1, quote_text(s, text));
	if (!str_to_u64(s, ret_number))
		return error_set(err, ERR_INVALID, "strconv.ParseUint: parsing %s: %s",
				 quote_text(s, text),
				 s.n ? "value out of range" : "invalid syntax");
	return 0;
}

/* Cuts *s at the first c, and returns the text after it. */
static struct str semver_cut(struct str *s, char c, bool *ret_found)
{
	ptrdiff_t at = str_chr(*s, c);
	struct str rest;

	*ret_found = at >= 0;
	if (at < 0)
		return STR_NULL;
	rest = str_of(s->p + at + 1, s->n - (size_t)at - 1);
	s->n = (size_t)at;
	return rest;
}

static int check_pre(struct str pre, struct error *err)
{
	char text[QUOTE_SIZE];
	struct str part;
	uint64_t number;

	if (pre.n == 0)
		return error_set(err, ERR_INVALID, "Prerelease is empty");
	while (str_split(&pre, '.', &part)) {
		if (part.n == 0)
			return error_set(err, ERR_INVALID, "Prerelease is empty");
		if (!all_in(part, true))
			return error_set(err, ERR_INVALID,
					 "Invalid character(s) found in prerelease %s",
					 quote_text(part, text));
		if (!all_in(part, false))
			continue;
		if (part.n > 1 && part.p[0] == '0')
			return error_set(err, ERR_INVALID,
					 "Numeric PreRelease version must not contain leading "
					 "zeroes %s",
					 quote_text(part, text));
		if (!str_to_u64(part, &number))
			return error_set(err, ERR_INVALID,
					 "strconv.ParseUint: parsing %s: value out of range",
					 quote_text(part, text));
	}
	return 0;
}

static int check_build(struct str build, struct error *err)
{
	char text[QUOTE_SIZE];
	struct str part;

	if (build.n == 0)
		return error_set(err, ERR_INVALID, "Build meta data is empty");
	while (str_split(&build, '.', &part)) {
		if (part.n == 0)
			return error_set(err, ERR_INVALID, "Build meta data is empty");
		if (!all_in(part, true))
			return error_set(err, ERR_INVALID,
					 "Invalid character(s) found in build meta data %s",
					 quote_text(part, text));
	}
	return 0;
}

/* Reads the third part and everything after it. */
static int read_rest(struct str s, bool normalize, struct cel_semver *v, struct error *err)
{
	bool has_build, has_pre;
	int r;

	v->build = semver_cut(&s, '+', &has_build);
	v->pre = semver_cut(&s, '-', &has_pre);
	/* "1.2.-rc" is 1.2.0-rc to the forgiving. */
	if (s.n == 0 && normalize && (has_pre || has_build))
		s = STR("0");
	r = semver_read_number(s, "patch", &v->patch, err);
	if (r == 0 && has_pre)
		r = check_pre(v->pre, err);
	if (r == 0 && has_build)
		r = check_build(v->build, err);
	return r;
}

/* Up to three parts; how many there are. */
static size_t split3(struct str s, struct str parts[static 3])
{
	bool found = true;
	size_t n = 0;

	parts[0] = s;
	while (found && n < 2) {
		parts[n + 1] = semver_cut(&parts[n], '.', &found);
		n++;
	}
	return found ? n + 1 : n;
}

/* Leading zeros go, but for one that no digit follows. */
static struct str without_zeros(struct str s)
{
	size_t zeros = 0;

	if (s.n < 2)
		return s;
	while (zeros < s.n && s.p[zeros] == '0')
		zeros++;
	if (zeros && (zeros == s.n || !all_in(str_of(s.p + zeros, 1), false)))
		zeros--;
	return str_skip(s, zeros);
}

static int normalize_parts(struct str parts[static 3], size_t *n, struct error *err)
{
	for (size_t i = 0; i < *n; i++)
		parts[i] = without_zeros(parts[i]);
	if (*n == 3)
		return 0;
	if (str_chr(parts[*n - 1], '+') >= 0 || str_chr(parts[*n - 1], '-') >= 0)
		return error_set(err, ERR_INVALID,
				 "short version cannot contain PreRelease/Build meta data");
	while (*n < 3)
		parts[(*n)++] = STR("0");
	return 0;
}

int cel_semver_parse(struct str text, bool normalize, struct cel_semver *ret_version,
		     struct error *err)
{
	struct cel_semver v = { .major = 0 };
	struct str parts[3];
	size_t n;
	int r = 0;

	if (text.n == 0 && !normalize)
		return error_set(err, ERR_INVALID, "Version string empty");
	if (normalize && str_starts(text, STR("v")))
		text = str_skip(text, 1);
	n = split3(text, parts);
	if (normalize)
		r = normalize_parts(parts, &n, err);
	else if (n != 3)
		r = error_set(err, ERR_INVALID, "No Major.Minor.Patch elements found");
	if (r == 0)
		r = semver_read_number(parts[0], "major", &v.major, err);
	if (r == 0)
		r = semver_read_number(parts[1], "minor", &v.minor, err);
	if (r == 0)
		r = read_rest(parts[2], normalize, &v, err);
	if (r == 0)
		*ret_version = v;
	return r;
}

static int cmp_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Numbers sort before words; words by their bytes. */
static int cmp_part(struct str a, struct str b)
{
	bool a_number = all_in(a, false), b_number = all_in(b, false);
	int order;

	if (a_number != b_number)
		return a_number ? -1 : 1;
	/* No leading zeros: the longer number is the larger one. */
	if (a_number && a.n != b.n)
		return a.n < b.n ? -1 : 1;
	order = str_cmp(a, b);
	return (order > 0) - (order < 0);
}

static int cmp_pre(struct str a, struct str b)
{
	struct str x, y;
	bool more_a, more_b;
	int order = 0;

	if (a.n == 0 || b.n == 0)
		return (a.n == 0) - (b.n == 0);
	do {
		more_a = str_split(&a, '.', &x);
		more_b = str_split(&b, '.', &y);
		if (!more_a || !more_b)
			return more_a - more_b;
		order = cmp_part(x, y);
	} while (order == 0);
	return order;
}

int cel_semver_cmp(const struct cel_semver *a, const struct cel_semver *b)
{
	if (a->major != b->major)
		return cmp_u64(a->major, b->major);
	if (a->minor != b->minor)
		return cmp_u64(a->minor, b->minor);
	if (a->patch != b->patch)
		return cmp_u64(a->patch, b->patch);
	return cmp_pre(a->pre, b->pre);
}

void cel_semver_print(const struct cel_semver *version, struct buf *out)
{
	(void)buf_add_u64(out, version->major);
	(void)buf_addc(out, '.');
	(void)buf_add_u64(out, version->minor);
	(void)buf_addc(out, '.');
	(void)buf_add_u64(out, version->patch);
	if (version->pre.n) {
		(void)buf_addc(out, '-');
		(void)buf_add_str(out, version->pre);
	}
	if (version->build.n) {
		(void)buf_addc(out, '+');
		(void)buf_add_str(out, version->build);
	}
}
