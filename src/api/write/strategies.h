/*
 * strategies - what kinds do to objects that are to be stored.
 *
 * The functions that schema/ names; their rows say which is called for what.
 * A prepare_create sees an object with its metadata, defaults and an empty
 * status; a prepare_update one that has kept what its path does not write
 * (write/update.c), and tells by w->subresource which path that is. Trees are
 * of the storage version. None of them fails: what is wrong is for validation.
 */
#ifndef API_WRITE_STRATEGIES_H
#define API_WRITE_STRATEGIES_H

#include "api/schema/schema.h"

/* Pods: phase and QoS class; a status write cannot lose what old clients do not know. */
void strategy_pod_create(struct write *w, struct json *object);
void strategy_pod_update(struct write *w, struct json *object, const struct json *old);

/* Namespaces: phase and finalizer; the label with the name is a default. */
void strategy_namespace_fill(struct arena *a, struct json *parent, int64_t now_ns);
void strategy_namespace_create(struct write *w, struct json *object);
void strategy_namespace_update(struct write *w, struct json *object, const struct json *old);

/* Secrets: stringData is merged into data, as a default. */
void strategy_secret_fill(struct arena *a, struct json *parent, int64_t now_ns);

/* Service accounts: references to secrets are names and nothing else. */
void strategy_service_account_create(struct write *w, struct json *object);
void strategy_service_account_update(struct write *w, struct json *object, const struct json *old);

/* Limit ranges: one without a name gets one. */
void strategy_limit_range_create(struct write *w, struct json *object);
/* Services: fields that belong to a type go with it. */
void strategy_service_update(struct write *w, struct json *object, const struct json *old);

/* Volumes and their claims: phase. */
void strategy_volume_create(struct write *w, struct json *object);
void strategy_volume_update(struct write *w, struct json *object, const struct json *old);
void strategy_volume_claim_create(struct write *w, struct json *object);
void strategy_volume_claim_update(struct write *w, struct json *object, const struct json *old);

/* Deployments: a change of annotations counts as one of the spec. */
void strategy_deployment_update(struct write *w, struct json *object, const struct json *old);

/* Jobs: selector and labels of the template. */
void strategy_job_create(struct write *w, struct json *object);

/* Claims: the status of a device goes with its allocation. */
void strategy_claim_update(struct write *w, struct json *object, const struct json *old);

/* Taint rules: a new effect has a new time. */
void strategy_taint_rule_update(struct write *w, struct json *object, const struct json *old);

/* Requests for certificates: what is asked for stays; approval writes conditions alone. */
void strategy_signing_request_update(struct write *w, struct json *object, const struct json *old);
schema_check_update check_signing_request_update;
schema_check_update check_signing_request_status;

/* Definitions: versions that may be stored. */
void strategy_crd_create(struct write *w, struct json *object);
void strategy_crd_update(struct write *w, struct json *object, const struct json *old);

#endif
