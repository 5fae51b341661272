/*
 * control - commands that break and heal the fake GPUs. GPU is an index, CALL the name of an NVML
 * function or "all".
 *
 *   gpus N                      start again with N GPUs: no instances, MIG off, no faults
 *   no-mig GPU                  the GPU does not have MIG
 *   mig-reset GPU               a new MIG mode waits for a reset of the GPU
 *   fail CALL CODE [COUNT]      the next COUNT calls (default: all) return CODE
 *   slow CALL MS [COUNT]        calls take MS milliseconds longer
 *   hang CALL                   calls do not return until `heal`
 *   await-hang                  returns when a call hangs
 *   resume CALL                 calls that hang continue; other faults stay
 *   settled                     fails while a fault is left
 *   crash CALL                  the next call takes effect, and then ends its process
 *   crash-before CALL           the next call ends its process at once
 *   mismatch                    the library does not match the kernel module
 *   lost GPU [CODE]             every call returns 15, or CODE
 *   recovery GPU ACTION         sets the recovery action, and sends its event
 *   remap GPU PENDING FAILED    state of remapped rows
 *   clocks GPU REASONS          clock event reasons, for example 0x40
 *   xid GPU CODE [GI CI] [PID]  sends an Xid event; PID becomes a process that uses the instance
 *   event GPU TYPE [DATA]       sends another event
 *   busy GPU [GI CI] PID        a process uses the instance, or the whole GPU
 *   idle GPU                    no process uses the GPU
 *   heal [CALL]                 removes faults, lost GPUs, recovery actions and the like; with
 *                               CALL only the faults of that call
 *   show                        prints the state as JSON
 */
#ifndef TESTS_FAKE_NVML_CONTROL_H
#define TESTS_FAKE_NVML_CONTROL_H

/* Runs a command on the state file of the environment. Returns 0, or -1 and sets *why. */
int fake_control(int argc, const char *const *argv, const char **why);

#endif
