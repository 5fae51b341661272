/*
 * Any text as an audit policy. An accepted one decides about any request; a rejected one has an
 * error message.
 */
#include "server/audit/policy.h"
#include "server/core/user.h"
#include "target.h"

static void decide(const struct audit_policy *p, struct audit_question q)
{
	struct audit_decision d = audit_policy_decide(p, &q);

	require(d.level < AUDIT_LEVELS && d.omit < 1 << AUDIT_STAGES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str group = STR("system:nodes");
	struct user user = { .name = STR("kubelet"), .groups = &group, .ngroups = 1 };
	struct audit_policy *p = NULL;
	struct error err = { 0 };

	if (audit_policy_read(str_of(data, size), &p, &err) < 0) {
		require(err.code == ERR_INVALID && err.msg[0] && !p);
		return 0;
	}
	require(audit_policy_rules(p) > 0);
	decide(p, (struct audit_question){ .user = &user,
					   .verb = STR("get"),
					   .resource = STR("pods"),
					   .subresource = STR("log"),
					   .ns = STR("x"),
					   .name = STR("y") });
	decide(p, (struct audit_question){
			  .verb = STR("get"), .is_path = true, .path = STR("/healthz/ping") });
	audit_policy_free(p);
	return 0;
}
