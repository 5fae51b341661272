/*
 * The three forms of --create differ in the meaning of their second word. Each kind has a parser
 * for the text after the first colon.
 */
#include "drivers/nic_inventory/spec.h"

#include <fnmatch.h>
#include <linux/if_link.h>
#include <stdio.h>

#include "base/text/nearest.h"
#include "drivers/drivers_limits.h"

enum { WORDS_MAX = 3, VLAN_MAX = 4094 };

static const char *const kind_names[] = {
	[NIC_HOST] = "host",
	[NIC_VETH] = "veth",
	[NIC_MACVLAN] = "macvlan",
	[NIC_VLAN] = "vlan",
};

static const struct {
	const char *name;
	uint32_t mode;
} modes[] = {
	{ "bridge", MACVLAN_MODE_BRIDGE },
	{ "private", MACVLAN_MODE_PRIVATE },
	{ "vepa", MACVLAN_MODE_VEPA },
	{ "passthru", MACVLAN_MODE_PASSTHRU },
};

const char *nic_kind_name(enum nic_kind kind)
{
	return kind_names[kind];
}

bool nic_kind_parse(struct str word, enum nic_kind *ret_kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++) {
		if (str_eqz(word, kind_names[i])) {
			*ret_kind = (enum nic_kind)i;
			return true;
		}
	}
	return false;
}

uint32_t nic_macvlan_mode(struct str word)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (str_eqz(word, modes[i].name))
			return modes[i].mode;
	return 0;
}

const char *nic_macvlan_mode_name(uint32_t mode)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (modes[i].mode == mode)
			return modes[i].name;
	return NULL;
}

/* --- one --create ------------------------------------------------------------------------- */

/* "kind:a[:b[:c]]" without the kind. */
struct words {
	struct str v[WORDS_MAX];
	size_t n;
};

static int parse_count(struct str word, struct nic_create *c, struct error *err)
{
	uint64_t n;

	if (!str_to_u64(word, &n) || n < 1 || n > DRIVER_DEVICES_MAX)
		return error_set(err, ERR_INVALID, "\"%.*s\" is not a number from 1 to %d",
				 STR_ARG(word), DRIVER_DEVICES_MAX);
	c->count = (unsigned)n;
	return 0;
}

static int parse_parent(struct str word, const char *what, struct nic_create *c, struct error *err)
{
	if (!rtnl_name_is_valid(word))
		return error_set(err, ERR_INVALID, "\"%.*s\" is not the name of a %s",
				 STR_ARG(word), what);
	(void)snprintf(c->parent, sizeof(c->parent), "%.*s", STR_ARG(word));
	return 0;
}

static int parse_veth(const struct words *w, struct nic_create *c, struct error *err)
{
	int r = parse_count(w->v[0], c, err);

	return r == 0 && w->n > 1 ? parse_parent(w->v[1], "bridge", c, err) : r;
}

static int parse_mode(struct str word, struct nic_create *c, struct error *err)
{
	struct nearest n;

	c->macvlan_mode = nic_macvlan_mode(word);
	if (c->macvlan_mode)
		return 0;
	nearest_init(&n, word);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		nearest_offer(&n, str_from(modes[i].name));
	if (nearest_get(&n).n > 0)
		return error_set(err, ERR_INVALID, "\"%.*s\" is not a mode; did you mean %.*s?",
				 STR_ARG(word), STR_ARG(nearest_get(&n)));
	return error_set(err, ERR_INVALID, "\"%.*s\" is not one of bridge, private, vepa, passthru",
			 STR_ARG(word));
}

static int parse_macvlan(const struct words *w, struct nic_create *c, struct error *err)
{
	int r = parse_count(w->v[0], c, err);

	if (r == 0)
		r = parse_parent(w->v[1], "parent interface", c, err);
	c->macvlan_mode = MACVLAN_MODE_BRIDGE;
	if (r == 0 && w->n > 2)
		r = parse_mode(w->v[2], c, err);
	if (r == 0 && c->macvlan_mode == MACVLAN_MODE_PASSTHRU && c->count != 1)
		return error_set(err, ERR_INVALID,
				 "with mode passthru there can be one on a parent: the count is 1");
	return r;
}

static int parse_vlan(const struct words *w, struct nic_create *c, struct error *err)
{
	struct str rest = w->v[0], low, high;
	uint64_t first, last;

	if (!str_split(&rest, '-', &low))
		low = STR_NULL;
	high = rest.p ? rest : low;
	if (!str_to_u64(low, &first) || !str_to_u64(high, &last) || first < 1 || last > VLAN_MAX ||
	    first > last)
		return error_set(err, ERR_INVALID,
				 "\"%.*s\" is not an ID from 1 to %d, or a range ID-ID",
				 STR_ARG(w->v[0]), VLAN_MAX);
	c->first = (unsigned)first;
	c->count = (unsigned)(last - first + 1);
	return parse_parent(w->v[1], "parent interface", c, err);
}

static const struct form {
	enum nic_kind kind;
	size_t words_min, words_max;
	const char *usage;
	int (*parse)(const struct words *w, struct nic_create *c, struct error *err);
} forms[] = {
	{ NIC_VETH, 1, 2, "veth:COUNT[:BRIDGE]", parse_veth },
	{ NIC_MACVLAN, 2, 3, "macvlan:COUNT:PARENT[:MODE]", parse_macvlan },
	{ NIC_VLAN, 2, 2, "vlan:ID[-ID]:PARENT", parse_vlan },
};

static const struct form *find_form(struct str kind, struct str *ret_nearest)
{
	struct nearest n;

	nearest_init(&n, kind);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (str_eqz(kind, nic_kind_name(forms[i].kind)))
			return &forms[i];
		nearest_offer(&n, str_from(nic_kind_name(forms[i].kind)));
	}
	*ret_nearest = nearest_get(&n);
	return NULL;
}

static int unknown_kind(struct str kind, struct str meant, struct error *err)
{
	if (meant.n > 0)
		return error_set(err, ERR_INVALID, "cannot create \"%.*s\", did you mean %.*s?",
				 STR_ARG(kind), STR_ARG(meant));
	return error_set(err, ERR_INVALID, "cannot create \"%.*s\"; write %s, %s or %s",
			 STR_ARG(kind), forms[0].usage, forms[1].usage, forms[2].usage);
}

int nic_create_parse(struct str text, struct nic_create *ret_create, struct error *err)
{
	struct nic_create c = { 0 };
	struct words w = { .n = 0 };
	struct str rest = text, kind = STR_NULL, word, meant;
	const struct form *f;
	bool fits = true;
	int r;

	(void)str_split(&rest, ':', &kind);
	f = find_form(kind, &meant);
	if (!f)
		return unknown_kind(kind, meant, err);
	while (fits && str_split(&rest, ':', &word)) {
		fits = w.n < f->words_max;
		if (fits)
			w.v[w.n++] = word;
	}
	if (!fits || w.n < f->words_min)
		return error_set(err, ERR_INVALID, "\"%.*s\": write %s", STR_ARG(text), f->usage);
	c.kind = f->kind;
	r = f->parse(&w, &c, err);
	if (r < 0)
		return error_wrap(err, r, "%s", f->usage);
	*ret_create = c;
	return 0;
}

/* --- names -------------------------------------------------------------------------------- */

static char label_byte(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
}

void nic_label(struct str interface, char out[static NIC_LABEL])
{
	size_t n = 0;

	for (size_t i = 0; i < interface.n && n < NIC_LABEL - 1; i++) {
		char c = label_byte(interface.p[i]);

		if (c != '-' || n > 0)
			out[n++] = c;
	}
	while (n > 0 && out[n - 1] == '-')
		n--;
	out[n] = 0;
	if (n == 0)
		(void)snprintf(out, NIC_LABEL, "nic");
}

void nic_create_label(const struct nic_create *c, unsigned number, char out[static NIC_LABEL])
{
	bool plain = c->kind != NIC_MACVLAN || c->macvlan_mode == MACVLAN_MODE_BRIDGE;
	const char *mode = plain ? NULL : nic_macvlan_mode_name(c->macvlan_mode);
	char parent[NIC_LABEL] = "";

	if (c->parent[0])
		nic_label(str_from(c->parent), parent);
	(void)snprintf(out, NIC_LABEL, "%s-%.15s%s%s%s%u", nic_kind_name(c->kind), parent,
		       c->parent[0] ? "-" : "", mode ? mode : "", mode ? "-" : "", number);
}

/* --- the whole ---------------------------------------------------------------------------- */

static bool collide(const struct nic_create *a, const struct nic_create *b)
{
	char label_a[NIC_LABEL], label_b[NIC_LABEL];

	if (a->first >= b->first + b->count || b->first >= a->first + a->count)
		return false;
	nic_create_label(a, 0, label_a);
	nic_create_label(b, 0, label_b);
	return strcmp(label_a, label_b) == 0;
}

int nic_spec_check(const struct nic_spec *s, struct error *err)
{
	char label[NIC_LABEL];
	size_t n = 0;

	for (size_t i = 0; i < s->ncreates; i++) {
		const struct nic_create *c = &s->creates[i];

		for (size_t j = 0; j < i; j++) {
			if (!collide(c, &s->creates[j]))
				continue;
			nic_create_label(c, c->first, label);
			return error_set(err, ERR_INVALID,
					 "two entries give devices of the same name, such "
					 "as %s: combine them into one",
					 label);
		}
		n += c->count;
	}
	if (n > DRIVER_DEVICES_MAX)
		return error_set(err, ERR_INVALID, "%zu devices are to be created; %d are the most",
				 n, DRIVER_DEVICES_MAX);
	return 0;
}

int nic_spec_check_cni(const char *claim_cni, struct error *err)
{
	struct str rest = str_from(claim_cni), piece;

	if (strcmp(claim_cni, "*") == 0 || strcmp(claim_cni, "none") == 0)
		return 0;
	while (str_split(&rest, ',', &piece)) {
		if (piece.n == 0)
			return error_set(err, ERR_INVALID,
					 "a type is empty; to allow none, write none");
		if (str_eqz(piece, "*") || str_eqz(piece, "none"))
			return error_set(err, ERR_INVALID,
					 "%.*s cannot be combined with other types",
					 STR_ARG(piece));
		if (str_chr(piece, '/') >= 0)
			return error_set(err, ERR_INVALID, "%.*s is not the type of a CNI plugin",
					 STR_ARG(piece));
	}
	return 0;
}

static bool any_matches(const char *const *globs, size_t n, const char *interface)
{
	for (size_t i = 0; i < n; i++)
		if (fnmatch(globs[i], interface, 0) == 0)
			return true;
	return false;
}

bool nic_spec_matches(const struct nic_spec *s, const char *interface)
{
	if (s->npatterns > 0 && !any_matches(s->patterns, s->npatterns, interface))
		return false;
	return !any_matches(s->excluded, s->nexcluded, interface) &&
	       !nic_spec_is_parent(s, interface);
}

bool nic_spec_is_parent(const struct nic_spec *s, const char *interface)
{
	for (size_t i = 0; i < s->ncreates; i++)
		if (s->creates[i].parent[0] && strcmp(s->creates[i].parent, interface) == 0)
			return true;
	return false;
}
