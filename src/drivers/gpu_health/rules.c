/*
 * The table is ordered by nothing: a few dozen rows are searched from the end of the file's rules,
 * then from the top of the built-in ones.
 *
 * YAML trees have no lines. In block style each rule begins a line with "- " at the same depth, so
 * the n-th such line is the n-th rule. If their number differs from that of the rules, the file is
 * written in another way, and errors name the rule only.
 */
#include "drivers/gpu_health/rules.h"

#include <stdio.h>

#include "base/core/arena.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/system/file.h"
#include "base/text/nearest.h"
#include "base/yaml/yaml.h"
#include "drivers/drivers_limits.h"

#define RESET   "reset the GPU"
#define REBOOT  "restart the machine"
#define PROGRAM "examine the program"
#define POWER   "check the power cables of the GPU"

static const struct xid_rule built_in[] = {
	{ 8, 8, XID_APPLICATION, "work on the GPU took too long", PROGRAM },
	{ 11, 11, XID_APPLICATION, "invalid command stream", PROGRAM },
	{ 13, 13, XID_APPLICATION, "exception in a compute engine", PROGRAM },
	{ 25, 25, XID_APPLICATION, "invalid command stream", PROGRAM },
	{ 31, 31, XID_APPLICATION, "access to memory that is not mapped", PROGRAM },
	{ 32, 32, XID_APPLICATION, "invalid command stream", PROGRAM },
	{ 37, 41, XID_APPLICATION, "error in a program's work", PROGRAM },
	{ 43, 43, XID_APPLICATION, "the driver ended a program's work", PROGRAM },
	{ 44, 44, XID_APPLICATION, "error in a program's work", PROGRAM },
	{ 45, 45, XID_APPLICATION, "work removed after an earlier error", PROGRAM },
	{ 46, 46, XID_FATAL, "the GPU does not stop its work", RESET },
	{ 48, 48, XID_FATAL, "double-bit ECC error", RESET },
	{ 54, 54, XID_FATAL, "the GPU lacks power", POWER },
	{ 60, 60, XID_APPLICATION, "exception in the video engine", PROGRAM },
	{ 62, 62, XID_FATAL, "a controller in the GPU has stopped", RESET },
	{ 63, 63, XID_CONTAINED, "a memory row will be replaced", "reset the GPU when it is idle" },
	{ 64, 64, XID_FATAL, "a memory row cannot be replaced", RESET },
	{ 66, 67, XID_APPLICATION, "access that is not allowed", PROGRAM },
	{ 68, 68, XID_APPLICATION, "exception in the video decoder", PROGRAM },
	{ 69, 72, XID_APPLICATION, "exception in an engine", PROGRAM },
	{ 74, 74, XID_FATAL, "NVLink error", "check the NVLink, then reset the GPU" },
	{ 75, 77, XID_APPLICATION, "exception in an engine", PROGRAM },
	{ 78, 78, XID_ASK, "a virtual GPU does not start", "update the driver" },
	{ 79, 79, XID_LOST, "the GPU has left the PCI bus", REBOOT },
	{ 80, 80, XID_APPLICATION, "invalid command stream", PROGRAM },
	{ 82, 86, XID_APPLICATION, "exception in an engine", PROGRAM },
	{ 88, 89, XID_APPLICATION, "exception in an engine", PROGRAM },
	{ 92, 92, XID_CONTAINED, "many single-bit ECC errors", "watch the GPU" },
	{ 93, 93, XID_APPLICATION, "write to a protected part of the GPU", PROGRAM },
	{ 94, 94, XID_CONTAINED, "ECC error that only its program sees", "restart the program" },
	{ 95, 95, XID_FATAL, "ECC error that all programs see", RESET },
	{ 96, 107, XID_APPLICATION, "exception in an engine", PROGRAM },
	/* NVIDIA's tools ignore it, its catalog wants a reset: the driver knows. */
	{ 109, 109, XID_ASK, "a context switch took too long", RESET },
	{ 110, 110, XID_FATAL, "security fault", RESET },
	{ 119, 119, XID_FATAL, "the GPU's system processor does not answer", RESET },
	{ 120, 120, XID_FATAL, "error of the GPU's system processor", RESET },
	{ 121, 121, XID_APPLICATION, "corrected error of the C2C link", PROGRAM },
	{ 126, 135, XID_APPLICATION, "error in a program's work", PROGRAM },
	{ 136, 136, XID_FATAL, "a link cannot be trained", RESET },
	{ 137, 137, XID_APPLICATION, "access over NVLink to memory that is not mapped", PROGRAM },
	{ 139, 139, XID_APPLICATION, "error in a program's work", PROGRAM },
	{ 140, 140, XID_FATAL, "ECC error that cannot be repaired", RESET },
	{ 141, 141, XID_APPLICATION, "error in a program's work", PROGRAM },
	{ 143, 143, XID_FATAL, "the GPU cannot be initialised", RESET },
	{ 144, 150, XID_FATAL, "NVLink error", "check the NVLink, then reset the GPU" },
	{ 151, 151, XID_FATAL, "key rotation has failed", "restart the virtual machine" },
	/* Comes with every change of the recovery action, also to "none". */
	{ 154, 154, XID_ASK, "the recovery action has changed", RESET },
	{ 155, 155, XID_FATAL, "NVLink error that the driver found", RESET },
	{ 156, 156, XID_FATAL, "a part of the GPU was retired", RESET },
	{ 157, 157, XID_APPLICATION, "a part of the GPU could not be retired", PROGRAM },
	{ 158, 158, XID_FATAL, "the GPU does not answer", RESET },
	{ 160, 160, XID_FATAL, "channels were retired", REBOOT },
	{ 161, 161, XID_APPLICATION, "error in a program's work", PROGRAM },
	{ 162, 162, XID_FATAL, "power smoothing has failed", RESET },
};

static const struct xid_rule unknown_xid = { 0, UINT32_MAX, XID_ASK, "error without a rule",
					     RESET };

static const char *const class_names[] = {
	[XID_IGNORED] = "ignored",     [XID_APPLICATION] = "application",
	[XID_CONTAINED] = "contained", [XID_FATAL] = "fatal",
	[XID_LOST] = "lost",           [XID_ASK] = "recovery",
};

/* For rules of a file without text or action. */
static const struct {
	const char *text, *action;
} class_texts[] = {
	[XID_IGNORED] = { "harmless event", "do nothing" },
	[XID_APPLICATION] = { "error in a program's work", PROGRAM },
	[XID_CONTAINED] = { "error that the GPU has isolated", "restart the program" },
	[XID_FATAL] = { "fatal error", RESET },
	[XID_LOST] = { "the GPU is lost", REBOOT },
	[XID_ASK] = { "error", RESET },
};

struct xid_rules {
	VEC(struct xid_rule) v; /* from files, in their order */
	struct arena arena; /* their texts */
};

/* --- reading a file ------------------------------------------------------------------------- */

struct rules_reader {
	struct xid_rules *rules;
	struct str text;
	size_t index, count; /* of the rule; of all */
};

/* The depth of a line that begins a list item; -1: it does not. */
static ptrdiff_t rules_item_depth(struct str line)
{
	size_t at = 0;

	while (at < line.n && line.p[at] == ' ')
		at++;
	if (at >= line.n || line.p[at] != '-' || (at + 1 < line.n && line.p[at + 1] != ' '))
		return -1;
	return (ptrdiff_t)at;
}

/* The line of the current rule; 0: not known. */
static size_t rules_line(const struct rules_reader *x)
{
	struct str rest = x->text, line;
	ptrdiff_t depth = -1;
	size_t number = 0, items = 0, found = 0;

	while (str_split(&rest, '\n', &line)) {
		ptrdiff_t at = rules_item_depth(line);

		number++;
		if (at < 0)
			continue;
		if (depth < 0)
			depth = at;
		if (at == depth && items++ == x->index)
			found = number;
	}
	return items == x->count ? found : 0;
}

static int rules_fault(const struct rules_reader *x, const char *field, struct error *err,
		       const char *what)
{
	char place[64] = "";
	size_t line = rules_line(x);

	if (line > 0)
		(void)snprintf(place, sizeof(place), "line %zu: ", line);
	return error_set(err, ERR_INVALID, "%srules[%zu]%s%s: %s", place, x->index,
			 *field ? "." : "", field, what);
}

static int rules_read_class(const struct rules_reader *x, const struct json *v,
			    struct xid_rule *rule, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(class_names); i++)
		if (json_is(v, JSON_STRING) && str_eqz(json_str(v), class_names[i])) {
			rule->class = (enum xid_class)i;
			return 0;
		}
	return rules_fault(x, "class", err,
			   v ? "must be ignored, application, contained, fatal, lost or recovery"
			     : "is missing; write ignored, application, contained, fatal, lost or "
			       "recovery");
}

static int rules_read_text(const struct rules_reader *x, const struct json *v, const char *field,
			   const char **ret_text, struct error *err)
{
	struct str s = json_str(v);

	if (!v)
		return 0;
	if (s.n == 0 || s.n > XID_TEXT_MAX || memchr(s.p, 0, s.n) || memchr(s.p, '\n', s.n))
		return rules_fault(x, field, err, "must be one line of text, of 100 bytes at most");
	*ret_text = arena_strdup(&x->rules->arena, s);
	return 0;
}

static int rules_read_fields(const struct rules_reader *x, const struct json *v, struct error *err)
{
	static const char *const fields[] = { "xid", "class", "text", "action" };
	char what[160];

	if (!json_is(v, JSON_OBJECT))
		return rules_fault(x, "", err, "must be an object with xid and class");
	JSON_FOREACH (it, v) {
		struct nearest n;
		struct str meant;
		bool known = false;

		nearest_init(&n, json_key(it));
		for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
			known |= str_eqz(json_key(it), fields[i]);
			nearest_offer(&n, str_from(fields[i]));
		}
		if (known)
			continue;
		meant = nearest_get(&n);
		(void)snprintf(what, sizeof(what), "unknown field \"%.*s\"; %s%.*s",
			       STR_ARG(str_cut(json_key(it), NEAREST_WORD_MAX)),
			       meant.n ? "did you mean " : "use xid, class, text or action",
			       STR_ARG(meant));
		return rules_fault(x, "", err, what);
	}
	return 0;
}

/* "144-150", or "144". */
static bool rules_split_range(struct str text, uint64_t *ret_low, uint64_t *ret_high)
{
	struct str first = STR_NULL;

	if (!text.p || !str_split(&text, '-', &first) || !str_to_u64(first, ret_low))
		return false;
	*ret_high = *ret_low;
	return !text.p || str_to_u64(text, ret_high);
}

static bool rules_read_range(const struct json *v, struct xid_rule *rule)
{
	uint64_t low = 0, high = 0;

	if (json_u64(v, &low))
		high = low;
	else if (!rules_split_range(json_str(v), &low, &high))
		return false;
	rule->first = (uint32_t)low;
	rule->last = (uint32_t)high;
	return low <= high && high <= XID_MAX;
}

static int rules_push(const struct rules_reader *x, const struct json *xid, struct xid_rule *rule,
		      struct error *err)
{
	if (!rules_read_range(xid, rule))
		return rules_fault(x, "xid", err,
				   "must be a number up to 65535, a range such as \"144-150\", or "
				   "a list of these");
	if (!vec_push(&x->rules->v, *rule))
		return rules_fault(x, "", err, "too many rules; 1024 are the most");
	return 0;
}

static int rules_read_one(const struct rules_reader *x, const struct json *v, struct error *err)
{
	struct xid_rule rule = { 0 };
	const struct json *xid = json_getz(v, "xid");
	int r = rules_read_fields(x, v, err);

	if (r == 0)
		r = rules_read_class(x, json_getz(v, "class"), &rule, err);
	if (r < 0)
		return r;
	rule.text = class_texts[rule.class].text;
	rule.action = class_texts[rule.class].action;
	r = rules_read_text(x, json_getz(v, "text"), "text", &rule.text, err);
	if (r == 0)
		r = rules_read_text(x, json_getz(v, "action"), "action", &rule.action, err);
	if (r < 0)
		return r;
	if (!json_is(xid, JSON_ARRAY))
		return rules_push(x, xid, &rule, err);
	if (json_count(xid) == 0)
		return rules_fault(x, "xid", err, "must name at least one Xid");
	JSON_FOREACH (it, xid) {
		r = rules_push(x, it, &rule, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int rules_read(struct xid_rules *rules, struct str text, const struct json *tree,
		      struct error *err)
{
	const struct json *list = json_getz(tree, "rules");
	struct rules_reader x = { .rules = rules, .text = text, .count = json_count(list) };

	if (!json_is(tree, JSON_OBJECT) || !json_is(list, JSON_ARRAY))
		return error_set(err, ERR_INVALID, "must have a list \"rules\"");
	if (json_count(tree) > 1)
		return error_set(err, ERR_INVALID, "must have \"rules\" and no other field");
	JSON_FOREACH (it, list) {
		int r = rules_read_one(&x, it, err);

		if (r < 0)
			return r;
		x.index++;
	}
	return 0;
}

static int rules_parse(struct arena *a, struct str text, struct json **ret_tree, struct error *err)
{
	struct json_report report = { 0 };
	struct yaml_options o = { .report = &report };

	if (yaml_parse(a, text, &o, ret_tree, err) < 0)
		return error_recode(err, ERR_INVALID);
	if (report.duplicates)
		return error_set(err, ERR_INVALID, "%.*s is set twice",
				 STR_ARG(str_cut(report.duplicates->path, 100)));
	return 0;
}

int xid_rules_add(struct xid_rules *r, struct str text, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	size_t before = r->v.n;
	struct json *tree = NULL;
	int rc;

	arena_init(&a, XID_RULES_MEMORY_MAX);
	rc = rules_parse(&a, text, &tree, err);
	if (rc == 0)
		rc = rules_read(r, text, tree, err);
	if (rc < 0)
		r->v.n = before;
	return rc;
}

int xid_rules_load(struct xid_rules *r, const char *path, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(XID_RULES_FILE_MAX);
	int rc = file_read(path, &text, err);

	if (rc < 0)
		return error_wrap(err, rc, "cannot read the Xid rules");
	rc = xid_rules_add(r, buf_str(&text), err);
	return rc < 0 ? error_wrap(err, rc, "Xid rules in %s", path) : 0;
}

/* --- the table ------------------------------------------------------------------------------ */

struct xid_rules *xid_rules_new(void)
{
	struct xid_rules *r = XNEW(struct xid_rules);

	vec_init(&r->v, XID_RULES_MAX);
	arena_init(&r->arena, XID_RULES_MEMORY_MAX);
	return r;
}

void xid_rules_free(struct xid_rules *r)
{
	if (!r)
		return;
	vec_release(&r->v);
	arena_release(&r->arena);
	free(r);
}

const struct xid_rule *xid_rules_find(const struct xid_rules *r, uint32_t xid)
{
	for (size_t i = r->v.n; i-- > 0;)
		if (r->v.v[i].first <= xid && xid <= r->v.v[i].last)
			return &r->v.v[i];
	for (size_t i = 0; i < ARRAY_SIZE(built_in); i++)
		if (built_in[i].first <= xid && xid <= built_in[i].last)
			return &built_in[i];
	return &unknown_xid;
}

const char *xid_class_name(enum xid_class class)
{
	return (size_t) class < ARRAY_SIZE(class_names) ? class_names[class] : NULL;
}
