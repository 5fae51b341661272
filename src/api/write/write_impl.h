/*
 * write_impl - what the files of write and the strategies share.
 *
 * Small verbs on trees: every tree here is the request's own, in w->arena,
 * unless it is const.
 */
#ifndef API_WRITE_WRITE_IMPL_H
#define API_WRITE_WRITE_IMPL_H

#include "api/schema/tree.h"
#include "api/write/write.h"
#include "base/json/json.h"

/* --- metadata ---------------------------------------------------------------------- */

/* The metadata of an object, made when there is none. */
struct json *write_meta(struct arena *a, struct json *object);

/* Puts the members of metadata in the order in which upstream prints them. */
void write_order_meta(struct arena *a, struct json *object);

/* namespace as the path has it; -ERR_BAD_REQUEST for another. */
int write_check_namespace(struct write *w, struct json *object, struct error *err);

/* The body's name must be that of the path. -ERR_BAD_REQUEST. */
int write_check_name(struct write *w, const struct json *object, struct error *err);

/* Repeated owner references are dropped, with a warning. */
void write_dedup_owners(struct write *w, struct json *object);

/* What a client cannot change of metadata: as stored. */
void write_keep_meta(struct arena *a, struct json *meta, const struct json *old_meta);

/* Whether spec, or any other member but metadata and status, differs. */
bool write_spec_changed(const struct json *object, const struct json *old);

/*
 * Whose rules a write obeys: those of the storage version, into which the object was converted.
 * Versions of a custom kind have schemas of their own, and each is obeyed in itself.
 */
static inline const struct schema_kind *write_rules(const struct write *w)
{
	return w->kind->custom ? w->kind : w->kind->storage;
}

/* Makes a body or patched object of `kind` fit: decode_fit(), or a custom kind's schema. */
int write_fit(struct write *w, struct json *object, const struct schema_kind *kind,
	      struct decode_report *report, struct error *err);

/* --- steps -------------------------------------------------------------------------- */

/*
 * From a replaced tree of the request's version to what is stored: what all
 * updates and patches have in common behind their own checks.
 */
int write_finish_update(struct write *w, const struct json *stored, struct json *object,
			struct json **ret_object, struct error *err);

/*
 * The object in the request's version with a patch applied, fitted to its type, under the
 * name of the path: what write_patch() goes on with.
 */
int write_patch_form(struct write *w, const struct json *old, enum patch_type type,
		     const struct json *patch, struct json **ret_doc, struct error *err);

/* A uid that the new object has must be that of the stored one: -ERR_CONFLICT. */
int write_check_uid(const struct json *old, const struct json *object, struct error *err);

/*
 * Whether only times in managedFields differ: such an apply is no write. The object then has
 * those that are stored.
 */
bool write_same_but_times(struct write *w, struct json *object, const struct json *stored);

/* Records who changed what. */
void write_manage(struct write *w, struct json *object, const struct json *old);

/* 0, or -ERR_INVALID when w->errs has something. */
int write_result(struct write *w, struct error *err);

/* --- faults (write/faults.c) -------------------------------------------------------- */

/*
 * Faults of a decode: refused, warned of or ignored, as the request wants. When they are
 * refused, w->message has all of them.
 */
int write_take_report(struct write *w, const struct decode_report *report, struct error *err);

/*
 * Puts the report of a body, which was parsed and fitted to `kind`, into upstream's order where it
 * is not yet; for that, the body is read once more. Fails as the first reading might have.
 */
int write_retell(struct write *w, struct str body, enum decode_format format,
		 const struct schema_kind *kind, struct decode_report *report, struct error *err);

/* A report to go on with, which has the faults of the patch's own text. */
struct decode_report write_patch_report(struct write *w);

/* --- ends --------------------------------------------------------------------------- */

/* An object under deletion from which nothing keeps it any more. */
bool write_may_go(const struct write *w, const struct json *object, const struct json *old);

/* --- the KEP's names (write/alias.c) ------------------------------------------------ */

bool write_is_claim(const struct schema_kind *kind);

/* Decides what was remembered against the stored object: the value that is new wins. */
void write_settle_aliases(struct write *w, struct json *object, const struct json *old);

/* Puts the KEP's names beside upstream's; true when there was one to add. */
bool write_show_names(struct arena *a, struct json *network);

/*
 * A JSON patch is applied to a claim as it is shown, with both names: before it, the object
 * gets them, in place, and the values of a copy of the patch. From then on write_fold_aliases()
 * takes a name that is missing as taken away.
 */
void write_show_aliases(struct write *w, struct json *object);
const struct json *write_complete_patch(struct write *w, const struct json *patch);

#endif
