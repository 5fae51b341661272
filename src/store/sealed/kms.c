/*
 * Three calls: Status by a timer, Encrypt when a data key is to be made, Decrypt for each data key
 * that is not known. Each has the provider's time-out, so a plugin that hangs is one that fails.
 */
#include "store/sealed/kms.h"

#include <stdlib.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/system/uuid.h"
#include "grpc/channel.h"
#include "grpc/message.h"
#include "kms.pb-c.h"
#include "net/loop/loop.h"
#include "net/tls/seal.h"
#include "store/sealed/config.h"
#include "store/sealed/value.h"
#include "store/store_limits.h"

enum {
	POLL_MS = 10 * 1000,
	POLL_FAILING_MS = 1000,
	GRACE_MS = 30 * 1000,
	AGAIN_MS = 1000, /* between two tries to decrypt the same data key */
	TEXT_MAX = 1024, /* of an encrypted data key, and of a key id */
	NOTES_MAX = 32 * 1024, /* of all annotations */
};

#define KMS_METHOD(name, in, out)                                                              \
	{                                                                                      \
		.path = "/v2.KeyManagementService/" name, .request = &kms__##in##__descriptor, \
		.response = &kms__##out##__descriptor, .max_response = MIB                     \
	}

static const struct grpc_method status_method = KMS_METHOD("Status", status_request,
							   status_response);
static const struct grpc_method encrypt_method = KMS_METHOD("Encrypt", encrypt_request,
							    encrypt_response);
static const struct grpc_method decrypt_method = KMS_METHOD("Decrypt", decrypt_request,
							    decrypt_response);

/* A data key that was met; in the map `entries` by its packed form, which lies after the struct. */
struct kms_entry {
	struct sealed_kms *kms;
	struct sealed_dek dek; /* key NULL: not known */
	struct seal_key *key;
	bool asked; /* the plugin is decrypting it */
	struct error failure; /* of the last try */
	int64_t failed_at;
};

struct sealed_kms {
	struct sealed_kms_opts opts;
	struct grpc_channel *channel; /* NULL while it is being freed */
	struct str name, endpoint; /* copies */
	int64_t timeout_ms;
	struct loop_timer poll;
	bool settled, healthy;
	struct error failure; /* why it is not healthy */
	int64_t good_at; /* when it was healthy last */
	struct seal_key *making; /* the data key that is being encrypted */
	struct kms_entry *current; /* seals; also in the map */
	char *key_id; /* that `current` was encrypted with; NULL: none */
	struct map entries;
};

/* --- entries ------------------------------------------------------------------------ */

static struct kms_entry *entry_new(struct sealed_kms *k, struct str packed, struct str key_id)
{
	struct kms_entry *e = xcalloc(1, sizeof(*e) + packed.n);

	e->kms = k;
	e->dek.packed = str_of(e + 1, packed.n);
	(void)str_put(e + 1, packed);
	e->dek.seal = sealed_number(SEALED_KMS, k->name, key_id);
	return e;
}

static void entry_free(struct kms_entry *e)
{
	seal_key_free(e->key);
	free(e);
}

static void entry_learn(struct kms_entry *e, struct seal_key *key)
{
	e->key = key;
	e->dek.key = key;
}

/* Drops a data key that is not in use, if there are too many: it can be decrypted again. */
static void entries_trim(struct sealed_kms *k)
{
	size_t at = 0;
	struct str key;
	void *value;

	if (k->entries.n < SEALED_DEKS_MAX)
		return;
	while (map_next(&k->entries, &at, &key, &value)) {
		struct kms_entry *e = value;

		if (e == k->current || e->asked)
			continue;
		(void)map_remove(&k->entries, key);
		entry_free(e);
		return;
	}
}

/* --- health ------------------------------------------------------------------------- */

static void kms_poll_in(struct sealed_kms *k)
{
	int64_t usual = k->opts.poll_ms ? k->opts.poll_ms : POLL_MS;
	int64_t failing = k->opts.poll_failing_ms ? k->opts.poll_failing_ms : POLL_FAILING_MS;

	loop_timer_start(&k->poll, k->healthy ? usual : failing);
}

static void kms_report(struct sealed_kms *k, const struct error *err)
{
	if (k->opts.on_health)
		k->opts.on_health(k->opts.arg, k->name, err);
}

static void kms_good(struct sealed_kms *k)
{
	bool before = k->healthy || !k->settled;

	k->healthy = k->settled = true;
	k->good_at = loop_now(k->opts.loop);
	k->failure.code = ERR_OK;
	if (!before)
		kms_report(k, NULL);
	kms_poll_in(k);
	k->opts.on_change(k->opts.arg);
}

static void kms_bad(struct sealed_kms *k, const char *what, struct str why)
{
	bool before = k->healthy || !k->settled;

	(void)error_set(&k->failure, ERR_UNAVAILABLE, "KMS plugin \"%.*s\": %s: %.*s",
			STR_ARG(k->name), what, STR_ARG(why));
	k->healthy = false;
	k->settled = true;
	if (before)
		kms_report(k, &k->failure);
	kms_poll_in(k);
	k->opts.on_change(k->opts.arg);
}

/* A status' message, or its code if it has none. */
static struct str status_text(const struct grpc_status *st)
{
	return st->message.n ? st->message : str_from(grpc_code_name(st->code));
}

/* --- making a data key -------------------------------------------------------------- */

static bool notes_fit(Kms__Annotation *const *notes, size_t n)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += strlen(notes[i]->key) + notes[i]->value.len;
	return total <= NOTES_MAX;
}

static const char *wrong_encryption(const Kms__EncryptResponse *m)
{
	if (m->ciphertext.len == 0 || m->ciphertext.len > TEXT_MAX)
		return "the encrypted key must have 1 to 1024 bytes";
	if (!m->key_id[0] || strlen(m->key_id) > TEXT_MAX)
		return "the key id must have 1 to 1024 bytes";
	return notes_fit(m->annotations, m->n_annotations) ? NULL : "too many annotations";
}

/* Uses the data key from now on. */
static void kms_take(struct sealed_kms *k, const Kms__EncryptResponse *m)
{
	Kms__DataKey stored = KMS__DATA_KEY__INIT;
	struct kms_entry *old;
	uint8_t *packed;
	size_t n;

	stored.ciphertext = m->ciphertext;
	stored.key_id = m->key_id;
	stored.n_annotations = m->n_annotations;
	stored.annotations = m->annotations;
	n = kms__data_key__get_packed_size(&stored);
	packed = xmalloc(n);
	(void)kms__data_key__pack(&stored, packed);
	entries_trim(k);
	k->current = entry_new(k, str_of(packed, n), str_from(m->key_id));
	entry_learn(k->current, TAKE(k->making));
	old = map_put(&k->entries, k->current->dek.packed, k->current);
	if (old) /* a plugin that encrypts two keys alike */
		entry_free(old);
	free(packed);
	free(k->key_id);
	k->key_id = xstrdup(m->key_id);
}

static void on_encrypted(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
			 const void *reply)
{
	const Kms__EncryptResponse *m = reply;
	struct sealed_kms *k = arg;
	const char *wrong = m ? wrong_encryption(m) : NULL;

	if (!k->channel)
		return;
	if (m && !wrong)
		kms_take(k, m);
	seal_key_free(TAKE(k->making));
	if (m && !wrong)
		kms_good(k);
	else
		kms_bad(k, "Encrypt", m ? str_from(wrong) : status_text(st));
}

static void kms_call(struct sealed_kms *k, const struct grpc_method *method,
		     const ProtobufCMessage *request,
		     void (*done)(void *arg, struct grpc_call *c, const struct grpc_status *st,
				  const void *reply),
		     void *arg)
{
	struct grpc_call_opts opts = { .deadline_ms = k->timeout_ms };

	grpc_channel_connect(k->channel);
	(void)grpc_channel_unary(k->channel, method, request, &opts, done, arg);
}

static void kms_encrypt(struct sealed_kms *k)
{
	Kms__EncryptRequest request = KMS__ENCRYPT_REQUEST__INIT;
	char uid[UUID_TEXT_SIZE];
	struct uuid id;
	struct str secret;

	uuid_make(&id);
	(void)uuid_print(&id, uid);
	k->making = seal_key_random();
	secret = seal_key_secret(k->making);
	request.uid = uid;
	request.plaintext.data = (uint8_t *)(uintptr_t)secret.p;
	request.plaintext.len = secret.n;
	kms_call(k, &encrypt_method, &request.base, on_encrypted, k);
}

/* --- status ------------------------------------------------------------------------- */

static const char *wrong_status(const Kms__StatusResponse *m)
{
	if (strcmp(m->version, "v2") != 0 && strcmp(m->version, "v2beta1") != 0)
		return "its version is not v2";
	if (strcmp(m->healthz, "ok") != 0)
		return m->healthz[0] ? m->healthz : "it does not say \"ok\"";
	return m->key_id[0] && strlen(m->key_id) <= TEXT_MAX ? NULL : "it has no key id";
}

static void on_status(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
		      const void *reply)
{
	const Kms__StatusResponse *m = reply;
	struct sealed_kms *k = arg;
	const char *wrong = m ? wrong_status(m) : NULL;

	if (!k->channel)
		return;
	if (!m || wrong)
		kms_bad(k, "Status", m ? str_from(wrong) : status_text(st));
	else if (k->key_id && strcmp(k->key_id, m->key_id) == 0)
		kms_good(k);
	else
		kms_encrypt(k);
}

static void on_poll(struct loop_timer *t)
{
	struct sealed_kms *k = CONTAINER_OF(t, struct sealed_kms, poll);
	Kms__StatusRequest request = KMS__STATUS_REQUEST__INIT;

	kms_call(k, &status_method, &request.base, on_status, k);
}

/* --- opening a data key ------------------------------------------------------------- */

static void on_decrypted(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
			 const void *reply)
{
	const Kms__DecryptResponse *m = reply;
	struct kms_entry *e = arg;
	struct sealed_kms *k = e->kms;
	struct str why = m ? STR("the data key must have 1 to 32 bytes") : status_text(st);

	if (!k->channel)
		return;
	e->asked = false;
	if (m && m->plaintext.len > 0 && m->plaintext.len <= SEAL_SECRET_MAX) {
		entry_learn(e, seal_key_new(str_of(m->plaintext.data, m->plaintext.len)));
		seal_wipe(m->plaintext.data, m->plaintext.len);
	} else {
		e->failed_at = loop_now(k->opts.loop);
		(void)error_set(&e->failure, ERR_UNAVAILABLE, "KMS plugin \"%.*s\": Decrypt: %.*s",
				STR_ARG(k->name), STR_ARG(why));
	}
	k->opts.on_change(k->opts.arg);
}

static void kms_decrypt(struct kms_entry *e, const Kms__DataKey *stored)
{
	Kms__DecryptRequest request = KMS__DECRYPT_REQUEST__INIT;
	char uid[UUID_TEXT_SIZE];
	struct uuid id;

	uuid_make(&id);
	(void)uuid_print(&id, uid);
	request.uid = uid;
	request.ciphertext = stored->ciphertext;
	request.key_id = stored->key_id;
	request.n_annotations = stored->n_annotations;
	request.annotations = stored->annotations;
	e->asked = true;
	kms_call(e->kms, &decrypt_method, &request.base, on_decrypted, e);
}

/* Asks the plugin for a data key, unless it is doing that. */
static int kms_ask(struct sealed_kms *k, struct str packed, struct kms_entry *e, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	void *message;
	Kms__DataKey *stored;

	arena_init(&a, 4 * SEALED_DEK_MAX);
	if (packed.n > SEALED_DEK_MAX ||
	    grpc_message_unpack(&kms__data_key__descriptor, packed, &a, &message, NULL) < 0)
		return error_set(err, ERR_INTERNAL, "its data key is damaged");
	stored = message;
	if (!e) {
		entries_trim(k);
		e = entry_new(k, packed, str_from(stored->key_id));
		(void)map_put(&k->entries, e->dek.packed, e);
	}
	kms_decrypt(e, stored);
	return 1;
}

int sealed_kms_find(struct sealed_kms *k, struct str packed, struct sealed_dek *ret_dek,
		    struct error *err)
{
	struct kms_entry *e = map_get(&k->entries, packed);

	if (e && e->key) {
		*ret_dek = e->dek;
		return 0;
	}
	if (e && e->asked)
		return 1;
	if (e && e->failure.code && loop_now(k->opts.loop) - e->failed_at < AGAIN_MS)
		return error_copy(err, &e->failure);
	return kms_ask(k, packed, e, err);
}

/* --- the plugin --------------------------------------------------------------------- */

bool sealed_kms_settled(const struct sealed_kms *k)
{
	return k->settled;
}

bool sealed_kms_healthy(const struct sealed_kms *k)
{
	return k->healthy;
}

struct str sealed_kms_name(const struct sealed_kms *k)
{
	return k->name;
}

uint32_t sealed_kms_seal(const struct sealed_kms *k)
{
	return k->current ? k->current->dek.seal : 0;
}

int sealed_kms_current(const struct sealed_kms *k, struct sealed_dek *ret_dek, struct error *err)
{
	int64_t grace = k->opts.grace_ms ? k->opts.grace_ms : GRACE_MS;

	if (!k->healthy && (!k->current || loop_now(k->opts.loop) - k->good_at > grace))
		return k->failure.code ? error_copy(err, &k->failure)
				       : error_set(err, ERR_UNAVAILABLE,
						   "KMS plugin \"%.*s\" has not answered yet",
						   STR_ARG(k->name));
	*ret_dek = k->current->dek;
	return 0;
}

static struct str kms_copy(struct str s)
{
	return str_of(xstrndup(s.p, s.n), s.n);
}

int sealed_kms_new(const struct sealed_provider *p, const struct sealed_kms_opts *opts,
		   struct sealed_kms **ret_kms, struct error *err)
{
	struct grpc_channel_opts channel = { .backoff_initial_ms = 100, .backoff_max_ms = 1000 };
	struct sealed_kms *k;
	int r = addr_parse(&channel.to, p->endpoint, 0, err);

	if (r < 0)
		return error_wrap(err, error_recode(err, ERR_INVALID), "KMS plugin \"%.*s\"",
				  STR_ARG(p->name));
	k = XNEW(struct sealed_kms);
	k->opts = *opts;
	k->name = kms_copy(p->name);
	k->endpoint = kms_copy(p->endpoint);
	k->timeout_ms = p->timeout_ms;
	map_init(&k->entries);
	k->channel = grpc_channel_new(opts->loop, &channel);
	loop_timer_init(&k->poll, opts->loop, on_poll);
	loop_timer_start(&k->poll, 0);
	*ret_kms = k;
	return 0;
}

bool sealed_kms_is_for(const struct sealed_kms *k, const struct sealed_provider *p)
{
	return str_eq(k->name, p->name) && str_eq(k->endpoint, p->endpoint) &&
	       k->timeout_ms == p->timeout_ms;
}

void sealed_kms_free(struct sealed_kms *k)
{
	size_t at = 0;
	struct str key;
	void *value;

	if (!k)
		return;
	loop_timer_stop(&k->poll);
	grpc_channel_free(TAKE(k->channel)); /* ends the calls */
	seal_key_free(k->making);
	while (map_next(&k->entries, &at, &key, &value))
		entry_free(value);
	map_release(&k->entries);
	free(k->key_id);
	free((void *)(uintptr_t)k->name.p);
	free((void *)(uintptr_t)k->endpoint.p);
	free(k);
}
