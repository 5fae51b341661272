/*
 * A pod, the runtime's state, and the expected actions and status; see lifecycle_fixture.h.
 */
#include "node/lifecycle/lifecycle_fixture.h"

struct row {
	const char *what;
	const char *pod, *status, *seen;
	const char *input; /* words: unprepared, cleaned, reject=R, stop=R */
	const char *plan, *told;
};

#define RAN(name, state)                       \
	"{'containerStatuses':[{'name':'" name \
	"','restartCount':0,'containerID':'test://old'," state "}]}"

static const struct row begin[] = {
	{ "a new pod gets a sandbox", "m:a", NULL, "", "", "run-sandbox 0",
	  "Pending FTFFT a:waiting(ContainerCreating)#0" },
	{ "nothing is made before all is prepared", "m:a", NULL, "", "unprepared", "",
	  "Pending FTFFT a:waiting(ContainerCreating)#0" },
	{ "a sandbox alone gets containers", "m:a", NULL, "S0", "", "start a#0",
	  "Pending TTFFT a:waiting(ContainerCreating)#0" },
	{ "main containers start together", "m:b m:a", NULL, "S0", "", "start b#0, start a#0",
	  "Pending TTFFT a:waiting(ContainerCreating)#0 b:waiting(ContainerCreating)#0" },
	{ "no container starts while something is missing outside", "m:a", NULL, "S0", "unprepared",
	  "", "Pending TTFFT a:waiting(ContainerCreating)#0" },
	{ "a sandbox without an address is replaced", "m:a", NULL, "S0-", "", "stop-sandbox sb-0",
	  "Pending FTFFT a:waiting(ContainerCreating)#0" },
	{ "with the host's network it needs none", "hostnet m:a", NULL, "S0-", "", "start a#0",
	  "Pending TTFFT a:waiting(ContainerCreating)#0" },
	{ "a created container is waited for, and started anew if need be", "m:a", NULL, "S0 a:0:c",
	  "", "start a#1", "Pending TTFFT a:waiting#0" },
	{ "what runs is left alone", "m:a", NULL, "S0 a:0:r", "", "",
	  "Running TTTTT a:running#0+sr" },
	{ "one of two runs", "m:a m:b", NULL, "S0 a:0:r", "", "start b#0",
	  "Pending TTFFT a:running#0+sr b:waiting(ContainerCreating)#0" },
	{ "an ephemeral container starts", "m:a e:d", NULL, "S0 a:0:r", "", "start d#0",
	  "Running TTTTT a:running#0+sr d:waiting(ContainerCreating)#0" },
	{ "an ephemeral container starts once", "m:a e:d", NULL, "S0 d:0:x1 a:0:r", "", "",
	  "Running TTTTT a:running#0+sr d:terminated=1(Error)#0" },
	{ "an ephemeral container does not keep a pod", "Never m:a e:d", NULL, "S0 d:0:r a:0:x0",
	  "", "stop d-0 30", "Pending TTFFT a:terminated=0(Completed)#0 d:running#0" },
};

static const struct row init[] = {
	{ "the first init container comes first", "i:x i:y m:a", NULL, "S0", "", "start x#0",
	  "Pending TFFFT x:waiting(PodInitializing)#0 y:waiting(PodInitializing)#0 "
	  "a:waiting(PodInitializing)#0" },
	{ "the next waits while one runs", "i:x i:y m:a", NULL, "S0 x:0:r", "", "",
	  "Pending TFFFT x:running#0+s y:waiting(PodInitializing)#0 a:waiting(PodInitializing)#0" },
	{ "the next follows", "i:x i:y m:a", NULL, "S0 x:0:x0", "", "start y#0",
	  "Pending TFFFT x:terminated=0(Completed)#0+r y:waiting(PodInitializing)#0 "
	  "a:waiting(PodInitializing)#0" },
	{ "after the last come main containers", "i:x i:y m:a", NULL, "S0 y:0:x0 x:0:x0", "",
	  "start a#0",
	  "Pending TTFFT x:terminated=0(Completed)#0+r y:terminated=0(Completed)#0+r "
	  "a:waiting(PodInitializing)#0" },
	{ "init containers that the runtime forgot are done", "i:x i:y m:a", NULL, "S0 y:0:x0", "",
	  "start a#0",
	  "Pending TFFFT x:waiting(PodInitializing)#0 y:terminated=0(Completed)#0+r "
	  "a:waiting(PodInitializing)#0" },
	{ "and counted as such once main containers are there", "i:x i:y m:a", NULL, "S0 a:0:r", "",
	  "",
	  "Running TTTTT x:terminated=0(Completed)#0+r y:terminated=0(Completed)#0+r "
	  "a:running#0+sr" },
	{ "one that fails is tried again", "i:x m:a", NULL, "S0 x:0:x3", "", "start x#1",
	  "Pending TFFFT x:terminated=3(Error)#0 a:waiting(PodInitializing)#0" },
	{ "unless the policy forbids it", "Never i:x m:a", NULL, "S0 x:0:x3", "",
	  "stop-sandbox sb-0, over",
	  "Pending TFFFT x:terminated=3(Error)#0 a:waiting(PodInitializing)#0" },
	{ "then the pod has failed", "Never i:x m:a", NULL, "s0 x:0:x3", "cleaned", "over, done",
	  "Failed FFFFT x:terminated=3(Error)#0 a:waiting(PodInitializing)#0" },
	{ "its own policy counts more than the pod's", "Never i:x,restart=OnFailure m:a", NULL,
	  "S0 x:0:x3", "", "start x#1",
	  "Pending TFFFT x:terminated=3(Error)#0 a:waiting(PodInitializing)#0" },
	{ "an init container that was only created starts anew", "i:x m:a", NULL, "S0 x:0:c", "",
	  "start x#1", "Pending TFFFT x:waiting#0 a:waiting(PodInitializing)#0" },
	{ "one whose state is unknown is stopped first", "i:x m:a", NULL, "S0 x:0:u", "",
	  "stop x-0 30", "Pending TFFFT x:waiting#0 a:waiting(PodInitializing)#0" },
	{ "main containers go on whatever became of init containers", "i:x m:a", NULL,
	  "S0 a:0:r x:0:x1", "", "", "Running TTTTT x:terminated=1(Error)#0 a:running#0+sr" },
	{ "ephemeral containers do not wait for init containers", "i:x m:a e:d", NULL, "S0 x:0:r",
	  "", "start d#0",
	  "Pending TFFFT x:running#0+s a:waiting(PodInitializing)#0 d:waiting(PodInitializing)#0" },
};

static const struct row sidecars[] = {
	{ "a sidecar that runs lets the next go", "s:x i:y m:a", NULL, "S0 x:0:r", "", "start y#0",
	  "Pending TFFFT x:running#0+sr y:waiting(PodInitializing)#0 "
	  "a:waiting(PodInitializing)#0" },
	{ "one that has a startup probe does not", "s:x,startup m:a", NULL, "S0 x:0:r", "", "",
	  "Pending TFFFT x:running#0 a:waiting(PodInitializing)#0" },
	{ "the last sidecar lets main containers go", "s:x m:a", NULL, "S0 x:0:r", "", "start a#0",
	  "Pending TTFFT x:running#0+sr a:waiting(PodInitializing)#0" },
	{ "a sidecar that ended is started again", "s:x m:a", NULL, "S0 a:0:r x:0:x0", "",
	  "start x#1", "Running TTFFT x:terminated=0(Completed)#0 a:running#0+sr" },
	{ "even if the pod never restarts", "Never s:x m:a", NULL, "S0 a:0:r x:0:x1", "",
	  "start x#1", "Running TTFFT x:terminated=1(Error)#0 a:running#0+sr" },
	{ "one that the runtime lost is started, too", "s:x m:a", NULL, "S0 a:0:r", "", "start x#0",
	  "Pending TTFFT x:waiting(PodInitializing)#0 a:running#0+sr" },
	{ "sidecars end when main containers have", "Never s:x m:a", NULL, "S0 a:0:x0 x:0:r", "",
	  "stop x-0 30", "Running TTFFT x:running#0+sr a:terminated=0(Completed)#0" },
	{ "and are not started again then", "Never s:x m:a", NULL, "S0 a:0:x0 x:0:x137", "",
	  "stop-sandbox sb-0, over",
	  "Pending TTFFT x:terminated=137(Error)#0 a:terminated=0(Completed)#0" },
	{ "a pod with sidecars succeeds by its main containers", "Never s:x m:a", NULL,
	  "s0 a:0:x0 x:0:x137", "cleaned", "over, done",
	  "Succeeded FTFFT x:terminated=137(Error)#0 a:terminated=0(Completed)#0" },
	{ "sidecars keep going while an init container runs", "s:x i:y m:a", NULL,
	  "S0 y:0:r x:0:x1", "", "start x#1",
	  "Pending TFFFT x:terminated=1(Error)#0 y:running#0+s a:waiting(PodInitializing)#0" },
	{ "sidecars wait for main containers when a pod ends", "deleting=30 s:x m:a", NULL,
	  "S0 a:0:r x:0:r", "", "stop a-0 30, wake+30000",
	  "Running TTTTT x:running#0+sr a:running#0+sr" },
	{ "then the last goes first", "deleting=30 s:x s:y m:a", NULL, "S0 a:0:x0 y:0:r x:0:r", "",
	  "stop y-0 30, wake+30000",
	  "Running TTFFT x:running#0+sr y:running#0+sr a:terminated=0(Completed)#0" },
	{ "and the first last", "deleting=30 s:x s:y m:a", NULL, "S0 a:0:x0 y:0:x0 x:0:r", "",
	  "stop x-0 30",
	  "Running TTFFT x:running#0+sr y:terminated=0(Completed)#0 a:terminated=0(Completed)#0" },
	{ "an init container that runs is stopped at once", "deleting=30 s:x i:y m:a", NULL,
	  "S0 y:0:r x:0:r", "", "stop y-0 30, stop x-0 30",
	  "Pending TFFFT x:running#0+sr y:running#0+s a:waiting(PodInitializing)#0" },
};

static const struct row restarts[] = {
	{ "Always starts again what succeeded", "m:a", NULL, "S0 a:0:x0", "", "start a#1",
	  "Running TTFFT a:terminated=0(Completed)#0" },
	{ "Always starts again what failed", "Always m:a", NULL, "S0 a:4:x1", "", "start a#5",
	  "Running TTFFT a:terminated=1(Error)#4" },
	{ "OnFailure starts again what failed", "OnFailure m:a", NULL, "S0 a:0:x1", "", "start a#1",
	  "Running TTFFT a:terminated=1(Error)#0" },
	{ "OnFailure leaves what succeeded", "OnFailure m:a m:b", NULL, "S0 b:0:r a:0:x0", "", "",
	  "Running TTFFT a:terminated=0(Completed)#0 b:running#0+sr" },
	{ "OnFailure succeeds in the end", "OnFailure m:a", NULL, "S0 a:1:x0 a:0:x1", "",
	  "stop-sandbox sb-0, remove a-0, over",
	  "Pending TTFFT a:terminated=0(Completed)#1<terminated=1(Error)" },
	{ "Never leaves what failed", "Never m:a m:b", NULL, "S0 b:0:r a:0:x1", "", "",
	  "Running TTFFT a:terminated=1(Error)#0 b:running#0+sr" },
	{ "Never fails when one has failed", "Never m:a m:b", NULL, "s0 b:0:x0 a:0:x1", "cleaned",
	  "over, done", "Failed FTFFT a:terminated=1(Error)#0 b:terminated=0(Completed)#0" },
	{ "Never succeeds when none has failed", "Never m:a m:b", NULL, "s0 b:0:x0 a:0:x0",
	  "cleaned", "over, done",
	  "Succeeded FTFFT a:terminated=0(Completed)#0 b:terminated=0(Completed)#0" },
	{ "an end shows only when all is cleaned up", "Never m:a", "{'phase':'Running'}",
	  "s0 a:0:x0", "", "over", "Running FTFFT a:terminated=0(Completed)#0" },
	{ "a container's own policy restarts it", "Never m:a,restart=Always m:b", NULL,
	  "S0 b:0:x0 a:0:x0", "", "start a#1",
	  "Running TTFFT a:terminated=0(Completed)#0 b:terminated=0(Completed)#0" },
	{ "a container's own policy leaves it", "m:a,restart=Never m:b", NULL, "S0 b:0:r a:0:x1",
	  "", "", "Running TTFFT a:terminated=1(Error)#0 b:running#0+sr" },
	{ "a rule restarts it", "Never m:a,restart=Never,rule=Restart:42", NULL, "S0 a:0:x42", "",
	  "start a#1", "Running TTFFT a:terminated=42(Error)#0" },
	{ "a rule for another code does not", "Never m:a,restart=Never,rule=Restart:42", NULL,
	  "s0 a:0:x41", "cleaned", "over, done", "Failed FTFFT a:terminated=41(Error)#0" },
	{ "a rule without a policy of the container counts for nothing",
	  "Never m:a,rule=Restart:42", NULL, "s0 a:0:x42", "cleaned", "over, done",
	  "Failed FTFFT a:terminated=42(Error)#0" },
	{ "the last state is the one before", "m:a", NULL, "S0 a:2:r a:1:x7", "", "",
	  "Running TTTTT a:running#2<terminated=7(Error)+sr" },
	{ "older ones are removed", "m:a", NULL, "S0 a:3:r a:2:x1 a:1:x1 a:0:x1", "",
	  "remove a-1, remove a-0", "Running TTTTT a:running#3<terminated=1(Error)+sr" },
	{ "one that never started is removed when a newer is there", "m:a", NULL,
	  "S0 a:2:r a:1:c a:0:x1", "", "remove a-1", "Running TTTTT a:running#2+sr" },
	{ "of two that run the older is stopped", "m:a", NULL, "S0 a:1:r a:0:r", "", "stop a-0 30",
	  "Running TTTTT a:running#1+sr" },
	{ "a container of unknown state is stopped before another starts", "m:a", NULL, "S0 a:0:u",
	  "", "stop a-0 30", "Pending TTFFT a:waiting#0" },
	{ "another image restarts a container", "m:a,image=new", NULL, "S0 a:0:r!1234abcd", "",
	  "stop a-0 30", "Running TTTTT a:running#0+sr" },
	{ "the same does not", "m:test_container,image=foo/image:v1", NULL,
	  "S0 test_container:0:r!8e45cbd0", "", "", "Running TTTTT test_container:running#0+sr" },
	{ "another image restarts even where the policy is Never", "Never m:a,image=new", NULL,
	  "S0 a:0:r!1234abcd", "", "stop a-0 30", "Running TTTTT a:running#0+sr" },
	{ "and a sidecar", "s:x,image=new m:a", NULL, "S0 a:0:r x:0:r!1234abcd", "", "stop x-0 30",
	  "Running TTTTT x:running#0+sr a:running#0+sr" },
};

static const struct row sandboxes[] = {
	{ "a dead sandbox is replaced", "m:a", NULL, "s0 a:0:x137", "", "run-sandbox 1",
	  "Running FTFFT a:terminated=137(Error)#0" },
	{ "what still runs in it is stopped first", "m:a", NULL, "s0 a:0:r", "", "stop a-0 30",
	  "Running FTTTT a:running#0+sr" },
	{ "its containers start in the new one", "m:a", NULL, "S1 s0 a:0:x137/0", "", "start a#1",
	  "Running TTFFT a:terminated=137(Error)#0" },
	{ "init containers run again in a new sandbox", "i:x m:a", NULL,
	  "S1 s0 a:0:x137/0 x:0:x0/0", "", "start x#1",
	  "Running TTFFT x:terminated=0(Completed)#0+r a:terminated=137(Error)#0" },
	{ "the old one goes when no container is in it", "m:a", NULL, "S1 s0 a:1:r/1", "",
	  "remove-sandbox sb-0", "Running TTTTT a:running#1+sr" },
	{ "and stays while a last state needs it", "m:a", NULL, "S1 s0 a:1:r/1 a:0:x137/0", "", "",
	  "Running TTTTT a:running#1<terminated=137(Error)+sr" },
	{ "of two that are ready neither is kept", "m:a", NULL, "S1 S0", "",
	  "stop-sandbox sb-1, stop-sandbox sb-0", "Pending FTFFT a:waiting(ContainerCreating)#0" },
	{ "a pod that never restarts gets no other sandbox", "Never m:a", NULL, "s0 a:0:x137", "",
	  "over", "Pending FTFFT a:terminated=137(Error)#0" },
	{ "unless no container was ever made", "Never m:a", NULL, "s0", "", "run-sandbox 1",
	  "Pending FTFFT a:waiting(ContainerCreating)#0" },
	{ "what has succeeded needs no other sandbox", "OnFailure m:a", NULL, "s0 a:0:x0",
	  "cleaned", "over, done", "Succeeded FTFFT a:terminated=0(Completed)#0" },
};

static const struct row ends[] = {
	{ "a deleted pod is stopped with its grace", "deleting=5 m:a m:b", NULL, "S0 b:0:r a:0:r",
	  "", "stop b-0 5, stop a-0 5", "Running TTTTT a:running#0+sr b:running#0+sr" },
	{ "two seconds at least", "deleting=0 m:a", NULL, "S0 a:0:r", "", "stop a-0 2",
	  "Running TTTTT a:running#0+sr" },
	{ "then its sandbox", "deleting=5 m:a", "{'phase':'Running'}", "S0 a:0:x137", "",
	  "stop-sandbox sb-0, over", "Running TTFFT a:terminated=137(Error)#0" },
	{ "nothing is started in a pod that ends", "deleting=5 m:a m:b", NULL, "S0 a:0:x1", "",
	  "stop-sandbox sb-0, over",
	  "Pending TTFFT a:terminated=1(Error)#0 b:waiting(ContainerCreating)#0" },
	{ "a deleted pod fails if a container did", "deleting=5 m:a", NULL, "s0 a:0:x143",
	  "cleaned", "over, done", "Failed FTFFT a:terminated=143(Error)#0" },
	{ "and succeeds if none did", "deleting=5 m:a", NULL, "s0 a:0:x0", "cleaned", "over, done",
	  "Succeeded FTFFT a:terminated=0(Completed)#0" },
	{ "deleted before it began, it ends at once", "deleting=5 m:a", NULL, "", "", "over",
	  "Pending FTFFT a:waiting(ContainerCreating)#0" },
	{ "and has failed", "deleting=5 m:a", NULL, "", "cleaned", "over, done",
	  "Failed FTFFT a:terminated=137(ContainerStatusUnknown)#0" },
	{ "deleted before its init containers began", "deleting=5 i:x i:y m:a", NULL, "", "cleaned",
	  "over, done",
	  "Failed FFFFT x:terminated=137(ContainerStatusUnknown)#0 "
	  "y:waiting(PodInitializing)#0 a:waiting(PodInitializing)#0" },
	{ "a rejected pod has nothing but the reason", "m:a",
	  "{'phase':'Pending','conditions':[{'type':'PodScheduled','status':'True'}]}", "",
	  "reject=OutOfcpu cleaned", "over, done", "Failed(OutOfcpu) ----T" },
	{ "one that runs already is stopped", "m:a", NULL, "S0 a:0:r", "reject=OutOfcpu",
	  "stop a-0 30", "Pending TTFFT a:running#0+sr" },
	{ "an evicted pod is stopped, and not ready any more", "grace=9 m:a", "{'phase':'Running'}",
	  "S0 a:0:r", "stop=Evicted", "stop a-0 9", "Running TTFFT a:running#0+sr" },
	{ "an evicted pod has failed", "m:a", "{'phase':'Running'}", "s0 a:0:x0",
	  "stop=Evicted cleaned", "over, done",
	  "Failed(Evicted) FTFFT a:terminated=0(Completed)#0" },
	{ "past its deadline it is stopped", "deadline=60 m:a",
	  "{'phase':'Running','startTime':'2026-01-01T23:59:00Z'}", "S0 a:0:r", "", "stop a-0 30",
	  "Running TTFFT a:running#0+sr" },
	{ "and has failed", "deadline=60 m:a",
	  "{'phase':'Running','startTime':'2026-01-01T23:59:00Z'}", "s0 a:0:x143", "cleaned",
	  "over, done", "Failed(DeadlineExceeded) FTFFT a:terminated=143(Error)#0" },
	{ "before its deadline it is looked at again", "deadline=60 m:a",
	  "{'phase':'Running','startTime':'2026-01-01T23:59:30Z'}", "S0 a:0:r", "", "wake+30001",
	  "Running TTTTT a:running#0+sr" },
	{ "a pod that has ended stays so", "m:a", "{'phase':'Failed','reason':'Evicted'}",
	  "S0 a:0:r", "", "stop a-0 30", "Failed(Evicted) TTFFT a:running#0+sr" },
	{ "whatever the runtime has", "m:a", "{'phase':'Succeeded'}", "", "cleaned", "over, done",
	  "Succeeded FTFFT a:terminated=137(ContainerStatusUnknown)#0" },
	{ "a pod that has ended keeps its statuses", "Never m:a",
	  "{'phase':'Failed','containerStatuses':[{'name':'a','restartCount':0,'state':{"
	  "'terminated':{'exitCode':3,'reason':'Error'}},'lastState':{}}]}",
	  "", "cleaned", "over, done", "Failed FTFFT a:terminated=3(Error)#0" },
};

static const struct row lost[] = {
	{ "a container that the runtime lost counts as killed", "m:a",
	  RAN("a", "'state':{'running':{}}"), "S0", "", "start a#1",
	  "Running TTFFT "
	  "a:waiting(ContainerCreating)#1<terminated=137(ContainerStatusUnknown)" },
	{ "it is not run twice where the policy is Never", "Never m:a",
	  RAN("a", "'state':{'running':{}}"), "", "cleaned", "over, done",
	  "Failed FTFFT a:terminated=137(ContainerStatusUnknown)#0" },
	{ "nor beside others", "Never m:a m:b", RAN("a", "'state':{'running':{}}"), "S0 b:0:r", "",
	  "", "Running TTFFT a:terminated=137(ContainerStatusUnknown)#0 b:running#0+sr" },
	{ "attempts go on where the runtime forgot", "m:a",
	  RAN("a", "'state':{'terminated':{'exitCode':1}}"), "S0", "", "start a#1",
	  "Running TTFFT a:terminated=1#0" },
	{ "what had succeeded does not run again", "OnFailure m:a m:b",
	  RAN("a", "'state':{'terminated':{'exitCode':0,'reason':'Completed'}}"), "S0 b:0:r", "",
	  "", "Running TTFFT a:terminated=0(Completed)#0 b:running#0+sr" },
	{ "a lost container of a deleted pod", "deleting=5 m:a", RAN("a", "'state':{'running':{}}"),
	  "", "cleaned", "over, done",
	  "Failed FTFFT "
	  "a:terminated=137(ContainerStatusUnknown)#0<terminated=137(ContainerStatusUnknown)" },
	{ "counts of restarts never go back", "m:a",
	  "{'containerStatuses':[{'name':'a','restartCount':7,'containerID':'test://a-0',"
	  "'state':{'running':{}}}]}",
	  "S0 a:0:r", "", "", "Running TTTTT a:running#7+sr" },
	{ "a state that turned unknown is an end", "m:a", RAN("a", "'state':{'running':{}}"),
	  "S0 a:0:u", "", "stop a-0 30",
	  "Running TTFFT a:terminated=137(ContainerStatusUnknown)#1" },
	{ "an agent that was restarted takes a ready container as it was", "m:a,ready",
	  "{'containerStatuses':[{'name':'a','restartCount':0,'containerID':'test://a-0',"
	  "'ready':true,'started':true,'state':{'running':{}}}]}",
	  "S0 a:0:r", "", "", "Running TTTTT a:running#0+sr" },
	{ "but not another", "m:a,ready",
	  "{'containerStatuses':[{'name':'a','restartCount':0,'containerID':'test://a-9',"
	  "'ready':true,'started':true,'state':{'running':{}}}]}",
	  "S0 a:0:r", "", "", "Running TTFFT a:running#0+s" },
	{ "what had started has started", "m:a,startup",
	  "{'containerStatuses':[{'name':'a','restartCount':0,'containerID':'test://a-0',"
	  "'ready':true,'started':true,'state':{'running':{}}}]}",
	  "S0 a:0:r", "", "", "Running TTTTT a:running#0+sr" },
};

static void apply(struct fixture *f, struct str words)
{
	struct str word, rest;

	while (words.n > 0 && str_split(&words, ' ', &word)) {
		if (str_eqz(word, "unprepared"))
			f->in.prepared = false;
		else if (str_eqz(word, "cleaned"))
			f->in.cleaned = true;
		else if (fixture_after(word, "reject=", &rest))
			f->in.reject_reason = rest;
		else if (fixture_after(word, "stop=", &rest))
			f->in.stop_reason = rest;
		else
			fail_msg("what is %.*s", STR_ARG(word));
	}
}

static bool same(const struct row *r, const char *of, const char *got, const char *want)
{
	if (strcmp(got, want) == 0)
		return true;
	print_error("%s\n  %s: %s\n  wanted: %s\n", r->what, of, got, want);
	return false;
}

/* A second call must return the same, and so must a new lifecycle. */
static size_t run_row(const struct row *r)
{
	struct fixture f;
	size_t wrong = 0;

	for (int again = 0; again < 2; again++) {
		fixture_init(&f, r->pod, r->status, r->seen);
		apply(&f, str_from(r->input));
		if (again == 1)
			wrong += !same(r, "status before the plan", fixture_status(&f), r->told);
		wrong += !same(r, "plan", fixture_plan(&f), r->plan);
		wrong += !same(r, "plan again", fixture_plan(&f), r->plan);
		wrong += !same(r, "status", fixture_status(&f), r->told);
		wrong += !same(r, "status again", fixture_status(&f), r->told);
		fixture_release(&f);
	}
	return wrong;
}

static void run_rows(const struct row *rows, size_t n)
{
	size_t wrong = 0;

	for (size_t i = 0; i < n; i++)
		wrong += run_row(&rows[i]) > 0;
	assert_int_equal(wrong, 0);
}

static void pods_begin(void **state)
{
	run_rows(begin, ARRAY_SIZE(begin));
}

static void init_containers_run_in_order(void **state)
{
	run_rows(init, ARRAY_SIZE(init));
}

static void sidecars_stay(void **state)
{
	run_rows(sidecars, ARRAY_SIZE(sidecars));
}

static void policies_decide_about_restarts(void **state)
{
	run_rows(restarts, ARRAY_SIZE(restarts));
}

static void sandboxes_are_replaced(void **state)
{
	run_rows(sandboxes, ARRAY_SIZE(sandboxes));
}

static void pods_end(void **state)
{
	run_rows(ends, ARRAY_SIZE(ends));
}

static void lost_containers_are_reported(void **state)
{
	run_rows(lost, ARRAY_SIZE(lost));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_begin),
		cmocka_unit_test(init_containers_run_in_order),
		cmocka_unit_test(sidecars_stay),
		cmocka_unit_test(policies_decide_about_restarts),
		cmocka_unit_test(sandboxes_are_replaced),
		cmocka_unit_test(pods_end),
		cmocka_unit_test(lost_containers_are_reported),
	};

	return cmocka_run_group_tests_name("node/lifecycle", tests, NULL, NULL);
}
