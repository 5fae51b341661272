/*
 * ui_impl - private to the files of src/server/ui.
 */
#ifndef SERVER_UI_UI_IMPL_H
#define SERVER_UI_UI_IMPL_H

#include "server/http/exchange.h"
#include "web/session/sessions.h"

/* --- ui.c ------------------------------------------------------------------------- */

struct ui_now ui_now_of(const struct exchange *x);

/* Replies with a Status. */
void ui_fail(struct exchange *x, const struct error *err);
void ui_refuse(struct exchange *x, enum error_code code, const char *why);

/*
 * On the state's loop, after state_sync(): the session, held by x->work. NULL with
 * -ERR_UNAUTHORIZED if it has ended, or if its user's token is no longer valid.
 */
struct ui_session *ui_session_of(struct exchange *x, struct state *st, struct str id,
				 struct error *err);

/* --- explain.c -------------------------------------------------------------------- */

/* GET /ui/explain */
void ui_explain(struct exchange *x);

/* GET /ui/clusters: a server has one cluster, which needs no entry; and whether it explains. */
void ui_list_clusters(struct exchange *x);

#endif
