/*
 * Reports syntax errors and recovers from them like the generated parser of cel-go, because users
 * see its messages. An extra token is skipped if the next one fits. A missing token is inserted if
 * the next one fits after it. Otherwise the rule ends, and tokens are skipped until one fits after
 * any open rule. After an error nothing is reported until a token matches. Attempts and skipped
 * tokens are bounded.
 */
#include "cel/parse/parse_impl.h"

#include "base/core/limits.h"
#include "cel/cel_limits.h"

enum { RECOVERIES_MAX = 30, SKIPPED_MAX = 256 };

static const struct cel_token *token_ahead(const struct parser *p, size_t ahead)
{
	size_t i = p->dead ? p->tokens.n : p->at + ahead;

	return &p->tokens.v[MIN(i, p->tokens.n - 1)];
}

enum cel_token_kind parser_peek(const struct parser *p, size_t ahead)
{
	return token_ahead(p, ahead)->kind;
}

bool parser_at(const struct parser *p, uint64_t set)
{
	return set & TOKENS(parser_peek(p, 0));
}

const struct cel_token *parser_token(const struct parser *p)
{
	return token_ahead(p, 0);
}

struct str parser_text(const struct parser *p, const struct cel_token *token)
{
	return str_of(p->x.issues->text.p + token->offset, token->n);
}

void parser_push(struct parser *p, uint64_t follow)
{
	(void)vec_push(&p->follow, follow);
}

void parser_pop(struct parser *p)
{
	p->follow.n--;
}

static void parse_recover_skip(struct parser *p)
{
	if (p->at + 1 < p->tokens.n)
		p->at++;
}

static void forget_fault(struct parser *p)
{
	p->recovering = p->dead;
	p->failed_sites = 0;
	p->failed_at = SIZE_MAX;
}

const struct cel_token *parser_take(struct parser *p)
{
	const struct cel_token *token = parser_token(p);

	forget_fault(p);
	parse_recover_skip(p);
	return token;
}

/*
 * Returns the tokens that may come next where `set` may, including those after the ends of open
 * rules.
 */
static uint64_t expected(const struct parser *p, uint64_t set)
{
	size_t i = p->follow.n;
	uint64_t all = set;

	while ((set & TOKENS_END) && i > 0) {
		set = p->follow.v[--i];
		all |= set;
	}
	if (set & TOKENS_END)
		all |= TOKENS(TOKEN_EOF);
	return all & ~TOKENS_END;
}

void parser_die(struct parser *p, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);
	va_list ap;

	if (p->dead)
		return;
	va_start(ap, fmt);
	(void)buf_vprintf(&b, fmt, ap);
	va_end(ap);
	cel_issue_add(p->x.issues, SIZE_MAX, "%.*s", STR_ARG(buf_str(&b)));
	p->dead = p->recovering = true;
}

static void print_set(uint64_t set, struct buf *out)
{
	bool several = set & (set - 1);
	const char *before = several ? "{" : "";

	for (int kind = 0; kind < TOKEN_KINDS; kind++) {
		if (!(set & TOKENS(kind)))
			continue;
		(void)buf_printf(out, "%s%s", before, cel_token_name(kind));
		before = ", ";
	}
	if (several)
		(void)buf_addc(out, '}');
}

/* In quotes, white space visible. */
static void print_visible(struct str text, struct buf *out)
{
	(void)buf_addc(out, '\'');
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\t')
			(void)buf_addz(out, "\\t");
		else if (text.p[i] == '\n')
			(void)buf_addz(out, "\\n");
		else if (text.p[i] == '\r')
			(void)buf_addz(out, "\\r");
		else
			(void)buf_addc(out, text.p[i]);
	}
	(void)buf_addc(out, '\'');
}

static void print_token(const struct parser *p, struct buf *out)
{
	const struct cel_token *token = parser_token(p);

	print_visible(token->kind == TOKEN_EOF ? STR("<EOF>") : parser_text(p, token), out);
}

/* Adds the message. From now on nothing is reported until a token matches. */
static void parse_recover_report(struct parser *p, const struct cel_token *where,
				 const struct buf *message)
{
	p->recovering = true;
	if (p->dead)
		return;
	if (p->reports++ < CEL_ISSUES_MAX) {
		cel_issue_add(p->x.issues, where->offset, "Syntax error: %.*s",
			      STR_ARG(buf_str(message)));
		return;
	}
	cel_issue_add(p->x.issues, where->offset, "Syntax error: More than %d syntax errors",
		      CEL_ISSUES_MAX);
	p->dead = true;
}

static void report_extraneous(struct parser *p, uint64_t set)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * CEL_TEXT_MAX);

	if (p->recovering)
		return;
	(void)buf_addz(&b, "extraneous input ");
	print_token(p, &b);
	(void)buf_addz(&b, " expecting ");
	print_set(set, &b);
	parse_recover_report(p, parser_token(p), &b);
}

static void report_missing(struct parser *p, enum cel_token_kind kind)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * CEL_TEXT_MAX);

	if (p->recovering)
		return;
	(void)buf_printf(&b, "missing %s at ", cel_token_name(kind));
	print_token(p, &b);
	parse_recover_report(p, parser_token(p), &b);
}

static void report_mismatch(struct parser *p)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * CEL_TEXT_MAX);

	(void)buf_addz(&b, "mismatched input ");
	print_token(p, &b);
	(void)buf_addz(&b, " expecting ");
	print_set(p->expected, &b);
	parse_recover_report(p, parser_token(p), &b);
}

/* Prints the text from one token to the end of another, without text that is not a token. */
static void print_range(const struct parser *p, size_t from, size_t to, struct buf *out)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(CEL_TEXT_MAX * 4);
	const char *text = p->x.issues->text.p;

	for (size_t i = 0; i < p->tokens.bad.n; i++) {
		const struct cel_token *bad = &p->tokens.bad.v[i];

		if (bad->offset < from || bad->offset >= to)
			continue;
		(void)buf_add(&b, text + from, bad->offset - from);
		from = bad->offset + bad->n;
	}
	(void)buf_add(&b, text + from, to - from);
	print_visible(buf_str(&b), out);
}

static void report_no_way(struct parser *p)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * CEL_TEXT_MAX);
	const struct cel_token *from = parser_token(p), *to = &p->tokens.v[p->offending];
	bool no_name = to->kind == TOKEN_TRUE || to->kind == TOKEN_FALSE || to->kind == TOKEN_NULL;

	if (no_name && to->offset == from->offset + 1) {
		(void)buf_printf(&b, "mismatched input '%.*s' expecting IDENTIFIER",
				 STR_ARG(parser_text(p, to)));
	} else {
		(void)buf_addz(&b, "no viable alternative at input ");
		if (from->kind == TOKEN_EOF)
			(void)buf_addz(&b, "'<EOF>'");
		else
			print_range(p, from->offset, to->offset + to->n, &b);
	}
	parse_recover_report(p, to, &b);
}

static void count_attempt(struct parser *p)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	if (p->attempts++ != RECOVERIES_MAX)
		return;
	(void)buf_printf(&b, "error recovery attempt limit exceeded: %d", RECOVERIES_MAX);
	parse_recover_report(p, parser_token(p), &b);
	p->dead = true;
}

static bool skip_one(struct parser *p, uint64_t set)
{
	if (!(set & TOKENS(parser_peek(p, 1))))
		return false;
	report_extraneous(p, set);
	parse_recover_skip(p);
	forget_fault(p);
	return true;
}

static bool mismatch(struct parser *p, enum parse_site site, uint64_t set)
{
	p->fault = FAULT_MISMATCH;
	p->site = site;
	p->expected = set;
	return false;
}

bool parser_match(struct parser *p, enum parse_site site, enum cel_token_kind kind, uint64_t after)
{
	uint64_t set = TOKENS(kind);

	if (parser_peek(p, 0) == kind) {
		(void)parser_take(p);
		return true;
	}
	count_attempt(p);
	if (!p->dead && skip_one(p, set)) {
		parse_recover_skip(p);
		return true;
	}
	if (!p->dead && (expected(p, after) & TOKENS(parser_peek(p, 0)))) {
		report_missing(p, kind);
		return true;
	}
	return mismatch(p, site, set);
}

bool parser_sync(struct parser *p, enum parse_site site, uint64_t set)
{
	if (p->recovering || parser_at(p, set))
		return true;
	set = expected(p, set);
	return skip_one(p, set) || mismatch(p, site, set);
}

static uint64_t recovery_set(const struct parser *p)
{
	uint64_t set = 0;

	for (size_t i = 0; i < p->follow.n; i++)
		set |= p->follow.v[i];
	return set & ~TOKENS_END;
}

void parser_sync_loop(struct parser *p, uint64_t set)
{
	if (p->recovering || parser_at(p, set))
		return;
	set = expected(p, set);
	report_extraneous(p, set);
	set |= recovery_set(p) | TOKENS(TOKEN_EOF);
	while (!parser_at(p, set))
		parse_recover_skip(p);
}

void parser_no_way(struct parser *p, enum parse_site site, size_t ahead)
{
	p->fault = FAULT_NO_WAY;
	p->site = site;
	p->offending = (size_t)(token_ahead(p, ahead) - p->tokens.v);
}

static void recover(struct parser *p)
{
	uint64_t set = recovery_set(p) | TOKENS(TOKEN_EOF);
	size_t skipped = 0;

	if (p->failed_at == p->at && (p->failed_sites & TOKENS(p->site)) &&
	    parser_peek(p, 0) != TOKEN_EOF) {
		parse_recover_skip(p);
		skipped++;
	}
	if (p->failed_at != p->at)
		p->failed_at = p->at;
	p->failed_sites |= TOKENS(p->site);
	for (; !parser_at(p, set); skipped++) {
		if (skipped >= SKIPPED_MAX) {
			parser_die(p, "error recovery token lookahead limit exceeded: %d",
				   SKIPPED_MAX);
			return;
		}
		parse_recover_skip(p);
	}
}

void parser_fail(struct parser *p)
{
	if (p->fault == FAULT_MISMATCH && !p->recovering)
		report_mismatch(p);
	else if (p->fault == FAULT_NO_WAY && !p->recovering)
		report_no_way(p);
	p->fault = FAULT_NONE;
	if (!p->dead)
		count_attempt(p);
	if (!p->dead)
		recover(p);
}
