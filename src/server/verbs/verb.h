/*
 * verb - the verbs of the API. Each replies to an exchange.
 *
 * Before the call the body is complete and the exchange's request, kind and accept are set. To
 * follow a write, begin with mutation_start() (verbs/mutation.h).
 */
#ifndef SERVER_VERBS_VERB_H
#define SERVER_VERBS_VERB_H

struct exchange;

void verb_get(struct exchange *x);
void verb_list(struct exchange *x);
void verb_watch(struct exchange *x);
void verb_create(struct exchange *x); /* also subresources that are created: binding, eviction */
void verb_update(struct exchange *x);
void verb_patch(struct exchange *x);
void verb_delete(struct exchange *x);
void verb_delete_collection(struct exchange *x);
void verb_scale(struct exchange *x); /* the subresource: get, update, patch */

#endif
