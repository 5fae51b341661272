/*
 * strategies - per-kind changes to objects before they are stored.
 *
 * Rows in schema/ name these functions and say when they are called. A prepare_create gets an
 * object with its metadata, its defaults and an empty status. A prepare_update gets an object in
 * which write/update.c has restored the fields that this path does not write; w->subresource says
 * which path it is. A prepare_delete gets a copy of the stored object; if it returns true, the copy
 * is stored and nothing else is done. Trees are of the storage version. No strategy fails:
 * validation reports invalid objects.
 */
#ifndef API_WRITE_STRATEGIES_H
#define API_WRITE_STRATEGIES_H

#include "api/schema/schema.h"

/* Pods: phase and QoS class. A status write keeps fields that old clients do not know. */
void strategy_pod_create(struct write *w, struct json *object);
void strategy_pod_update(struct write *w, struct json *object, const struct json *old);

/* Namespaces: phase and finalizer. The label with the name is a default. */
void strategy_namespace_fill(struct arena *a, struct json *parent, int64_t now_ns);
void strategy_namespace_create(struct write *w, struct json *object);
void strategy_namespace_update(struct write *w, struct json *object, const struct json *old);
/* A namespace is only marked at first, because its content must be deleted before it. */
bool strategy_namespace_delete(struct write *w, struct json *object,
			       const struct delete_options *options);

/* Secrets: stringData is merged into data, as a default. */
void strategy_secret_fill(struct arena *a, struct json *parent, int64_t now_ns);

/* Service accounts: references to secrets are reduced to names. */
void strategy_service_account_create(struct write *w, struct json *object);
void strategy_service_account_update(struct write *w, struct json *object, const struct json *old);

/* Limit ranges: one without a name is named by its uid. */
void strategy_limit_range_create(struct write *w, struct json *object);
/* Services: fields that belong to a type are removed when the type changes. */
void strategy_service_update(struct write *w, struct json *object, const struct json *old);

/* Volumes and their claims: phase. */
void strategy_volume_create(struct write *w, struct json *object);
void strategy_volume_update(struct write *w, struct json *object, const struct json *old);
void strategy_volume_claim_create(struct write *w, struct json *object);
void strategy_volume_claim_update(struct write *w, struct json *object, const struct json *old);

/* Deployments: a change of annotations counts as a change of the spec (generation). */
void strategy_deployment_update(struct write *w, struct json *object, const struct json *old);

/* Jobs: selector and labels of the template. */
void strategy_job_create(struct write *w, struct json *object);

/* Claims, KEP-4817: when a device is deallocated, its status entry is removed. */
void strategy_claim_update(struct write *w, struct json *object, const struct json *old);

/* Taint rules: a changed effect gets a new timestamp. */
void strategy_taint_rule_update(struct write *w, struct json *object, const struct json *old);

/* Certificate signing requests: the spec cannot change; /approval writes only conditions. */
void strategy_signing_request_update(struct write *w, struct json *object, const struct json *old);
schema_check_update check_signing_request_update;
schema_check_update check_signing_request_status;

/* Definitions: record the versions that objects may be stored in. */
void strategy_crd_create(struct write *w, struct json *object);
void strategy_crd_update(struct write *w, struct json *object, const struct json *old);
/* A definition is only marked at first: our own finalizer waits for its objects. */
bool strategy_crd_delete(struct write *w, struct json *object,
			 const struct delete_options *options);

#endif
