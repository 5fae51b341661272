/*
 * One table of forms; the code around it is the same for all.
 */
#include "store/sealed/value.h"

#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/map.h"
#include "net/tls/seal.h"
#include "store/sealed/kms.h"
#include "store/store.h"
#include "store/store_limits.h"

enum { LENGTH = 4, HEAD_MAX = 64 + SEALED_NAME_MAX, CONTEXT_MAX = 2048 };

struct form {
	const char *provider; /* as in the configuration */
	struct str prefix; /* before the name of the key or the plugin */
	size_t more; /* bytes that a sealed value is longer */
	void (*seal)(const struct seal_key *, struct str, struct str, char *);
	bool (*open)(const struct seal_key *, struct str, struct str, char *);
};

static const struct form forms[] = {
	[SEALED_AESGCM] = { "aesgcm",
			    { "k8s:enc:aesgcm:v1:", 18 },
			    SEAL_GCM_MORE,
			    seal_gcm,
			    seal_gcm_open },
	[SEALED_SECRETBOX] = { "secretbox",
			       { "k8s:enc:secretbox:v1:", 21 },
			       SEAL_BOX_MORE,
			       seal_box,
			       seal_box_open },
	[SEALED_KMS] = { "kms", { "k8s:enc:kms:v2:", 15 }, SEAL_GCM_MORE, seal_gcm, seal_gcm_open },
};

bool sealed_value_is(struct str value)
{
	return str_starts(value, STR("k8s:enc:"));
}

uint32_t sealed_number(enum sealed_kind kind, struct str name, struct str id)
{
	uint64_t h = hash_bytes(id, hash_bytes(name, (uint64_t)kind));

	return (uint32_t)h ? (uint32_t)h : 1;
}

/* The store's key with NULs between its parts: no two keys have the same context. */
static struct str sealed_context(const struct store_key *key, struct buf *out)
{
	(void)buf_add_str(out, key->resource);
	(void)buf_addc(out, '\0');
	(void)buf_add_str(out, key->ns);
	(void)buf_addc(out, '\0');
	(void)buf_add_str(out, key->name);
	return buf_str(out);
}

static const char *sealed_flag(void)
{
	return "--encryption-provider-config";
}

/* --- sealing ------------------------------------------------------------------------ */

/* The key that a provider seals with, and what comes before the sealed bytes. */
static int provider_key(const struct sealed_provider *p, struct buf *head,
			const struct seal_key **ret_key, uint32_t *ret_seal, struct error *err)
{
	char length[LENGTH];
	struct sealed_dek dek;
	struct str id;
	int r;

	(void)buf_add_str(head, forms[p->kind].prefix);
	if (p->kind != SEALED_KMS) {
		id = seal_key_id(p->keys[0].key);
		(void)buf_add_str(head, p->keys[0].name);
		(void)buf_addc(head, ':');
		(void)buf_add_str(head, id);
		*ret_key = p->keys[0].key;
		*ret_seal = sealed_number(p->kind, p->keys[0].name, id);
		return 0;
	}
	r = sealed_kms_current(p->kms, &dek, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < LENGTH; i++)
		length[i] = (char)(dek.packed.n >> (8 * (LENGTH - 1 - i)));
	(void)buf_add_str(head, p->name);
	(void)buf_addc(head, ':');
	(void)buf_add(head, length, LENGTH);
	(void)buf_add_str(head, dek.packed);
	*ret_key = dek.key;
	*ret_seal = dek.seal;
	return 0;
}

uint32_t sealed_rule_seal(const struct sealed_rule *rule)
{
	const struct sealed_provider *p = rule ? rule->providers[0] : NULL;

	if (!p || p->kind == SEALED_IDENTITY)
		return 0;
	if (p->kind == SEALED_KMS)
		return sealed_kms_seal(p->kms) ? sealed_kms_seal(p->kms) : STORE_SEAL_UNKNOWN;
	return sealed_number(p->kind, p->keys[0].name, seal_key_id(p->keys[0].key));
}

int sealed_value_make(const struct sealed_rule *rule, const struct store_key *key, struct str clear,
		      struct bytes **ret_sealed, uint32_t *ret_seal, struct error *err)
{
	CLEANUP(buf_release) struct buf head = BUF_INIT(HEAD_MAX + SEALED_DEK_MAX);
	CLEANUP(buf_release) struct buf context = BUF_INIT(CONTEXT_MAX);
	const struct sealed_provider *p = rule ? rule->providers[0] : NULL;
	const struct seal_key *with = NULL;
	const struct form *form;
	struct bytes *out;
	int r;

	*ret_sealed = NULL;
	*ret_seal = 0;
	if (!p || p->kind == SEALED_IDENTITY)
		return 0;
	form = &forms[p->kind];
	r = provider_key(p, &head, &with, ret_seal, err);
	if (r < 0)
		return r;
	(void)sealed_context(key, &context);
	if (head.overflow || context.overflow)
		return error_set(err, ERR_TOO_LARGE, "its key is too long to be sealed");
	out = bytes_new(head.n + clear.n + form->more);
	(void)str_put(out->data, buf_str(&head));
	form->seal(with, buf_str(&context), clear, out->data + head.n);
	*ret_sealed = out;
	return 0;
}

/* --- opening ------------------------------------------------------------------------ */

static int sealed_damaged(struct error *err)
{
	return error_set(err, ERR_INTERNAL, "the sealed value is damaged; restore a backup");
}

static int find_clear(const struct sealed_rule *rule, struct str value,
		      struct sealed_found *ret_found, struct error *err)
{
	bool may = !rule;

	for (size_t i = 0; rule && i < rule->n; i++)
		may = may || rule->providers[i]->kind == SEALED_IDENTITY;
	if (!may)
		return error_set(err, ERR_INVALID,
				 "it is stored in clear, but %s does not list provider identity "
				 "for this resource",
				 sealed_flag());
	*ret_found = (struct sealed_found){ .kind = SEALED_IDENTITY, .body = value, .n = value.n };
	return 0;
}

/* Sets the sealed bytes, which must at least have what sealing adds. */
static int find_body(const struct form *form, struct str body, struct sealed_found *f,
		     struct error *err)
{
	if (body.n < form->more)
		return sealed_damaged(err);
	f->body = body;
	f->n = body.n - form->more;
	return 0;
}

/* The value names a key of a provider with keys in the file. */
static int find_key(const struct sealed_rule *rule, enum sealed_kind kind, struct str name,
		    struct str rest, struct sealed_found *f, struct error *err)
{
	struct str id;
	bool named = false;

	if (rest.n < SEAL_ID_SIZE)
		return sealed_damaged(err);
	id = str_of(rest.p, SEAL_ID_SIZE);
	for (size_t i = 0; rule && i < rule->n; i++) {
		const struct sealed_provider *p = rule->providers[i];

		for (size_t k = 0; p->kind == kind && k < p->nkeys; k++) {
			if (!str_eq(p->keys[k].name, name))
				continue;
			named = true;
			if (!str_eq(seal_key_id(p->keys[k].key), id))
				continue;
			f->key = p->keys[k].key;
			f->seal = sealed_number(kind, name, id);
			return find_body(&forms[kind], str_skip(rest, SEAL_ID_SIZE), f, err);
		}
	}
	return error_set(err, ERR_INVALID,
			 named ? "it is sealed with another %s key named \"%.*s\" than the one in "
				 "%s"
			       : "it is sealed with %s key \"%.*s\", which is not in %s for this "
				 "resource",
			 forms[kind].provider, STR_ARG(name), sealed_flag());
}

static int find_dek(struct sealed_kms *kms, struct str rest, struct sealed_found *f,
		    struct error *err)
{
	struct sealed_dek dek;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < LENGTH && i < rest.n; i++)
		n = n << 8 | (uint8_t)rest.p[i];
	if (rest.n < LENGTH || n > rest.n - LENGTH)
		return sealed_damaged(err);
	r = sealed_kms_find(kms, str_of(rest.p + LENGTH, n), &dek, err);
	if (r != 0)
		return r;
	f->key = dek.key;
	f->seal = dek.seal;
	return find_body(&forms[SEALED_KMS], str_skip(rest, LENGTH + n), f, err);
}

static int find_plugin(const struct sealed_rule *rule, struct str name, struct str rest,
		       struct sealed_found *f, struct error *err)
{
	for (size_t i = 0; rule && i < rule->n; i++)
		if (rule->providers[i]->kind == SEALED_KMS &&
		    str_eq(rule->providers[i]->name, name))
			return find_dek(rule->providers[i]->kms, rest, f, err);
	return error_set(err, ERR_INVALID,
			 "it is sealed with KMS plugin \"%.*s\", which is not in %s for this "
			 "resource",
			 STR_ARG(name), sealed_flag());
}

int sealed_value_find(const struct sealed_rule *rule, struct str value,
		      struct sealed_found *ret_found, struct error *err)
{
	if (!sealed_value_is(value))
		return find_clear(rule, value, ret_found, err);
	for (size_t i = SEALED_AESGCM; i < ARRAY_SIZE(forms); i++) {
		struct str rest = str_skip(value, forms[i].prefix.n), name;

		if (!str_starts(value, forms[i].prefix))
			continue;
		if (!str_split(&rest, ':', &name) || !rest.p)
			return sealed_damaged(err);
		*ret_found = (struct sealed_found){ .kind = (enum sealed_kind)i };
		return i == SEALED_KMS
			       ? find_plugin(rule, name, rest, ret_found, err)
			       : find_key(rule, (enum sealed_kind)i, name, rest, ret_found, err);
	}
	return error_set(err, ERR_INVALID, "it is sealed with a provider that is not supported");
}

int sealed_value_open(const struct sealed_found *found, const struct store_key *key, char *out,
		      struct error *err)
{
	CLEANUP(buf_release) struct buf context = BUF_INIT(CONTEXT_MAX);

	if (!found->key) {
		(void)str_put(out, found->body);
		return 0;
	}
	(void)sealed_context(key, &context);
	if (context.overflow ||
	    !forms[found->kind].open(found->key, buf_str(&context), found->body, out))
		return sealed_damaged(err);
	return 0;
}
