//! The declarations of devplane/driver.h, ABI 1.1; the header says what each function and field means.
//!
//! `Default` sets `size` and leaves the rest zero. `layout()` lists every member and constant; a test compares that with
//! the header.
#![allow(non_camel_case_types, dead_code)]
use std::os::raw::{c_char, c_int, c_void};

pub type Text = *const c_char;
/// Ended by NULL.
pub type Texts = *const Text;

/// Structs as C has them, and what layout() says of them.
macro_rules! structs {
    ($(struct $name:ident { $($member:ident: $kind:ty),* $(,)? })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name { $(pub $member: $kind),* }

            impl Default for $name {
                fn default() -> Self {
                    // SAFETY: numbers, pointers and Option<fn> may be zero.
                    let mut it: Self = unsafe { std::mem::zeroed() };
                    it.size = std::mem::size_of::<Self>() as u32;
                    it
                }
            }
        )*

        fn members(lines: &mut Vec<String>) {
            $({
                let it = $name::default();
                $(
                    let offset = std::ptr::addr_of!(it.$member) as usize - std::ptr::addr_of!(it) as usize;
                    lines.push(format!("{}.{} {}", stringify!($name), stringify!($member).trim_start_matches("r#"), offset));
                )*
                lines.push(format!("{} {}", stringify!($name), std::mem::size_of::<$name>()));
            })*
        }
    };
}

macro_rules! values {
    ($($name:ident = $value:expr;)*) => {
        $(pub const $name: u32 = $value;)*

        fn constants(lines: &mut Vec<String>) {
            $(lines.push(format!("{} {}", stringify!($name), $name));)*
        }
    };
}

/// "STRUCT.MEMBER OFFSET", "STRUCT SIZE" and "CONSTANT VALUE" of everything here.
pub fn layout() -> Vec<String> {
    let mut lines = Vec::new();
    members(&mut lines);
    constants(&mut lines);
    lines
}

pub const DP_DRIVER_ABI: u32 = 1;
pub const DP_LATER: c_int = 1;

values! {
    DP_HEALTHY = 0; DP_UNHEALTHY = 1; DP_UNKNOWN = 2; DP_UNREPORTED = 3;
    DP_STRING = 0; DP_INT = 1; DP_BOOL = 2; DP_VERSION = 3;
    DP_FROM_CLASS = 0; DP_FROM_CLAIM = 1;
    DP_FALSE = 0; DP_TRUE = 1; DP_UNKNOWN_CONDITION = 2;
    DP_MODE_DRA = 0; DP_MODE_PLUGIN = 1;
    DP_HEALTH_V1 = 1; DP_HEALTH_V1ALPHA1 = 2; DP_HEALTH_NODE = 4; DP_HEALTH_ALL = 7;
    DP_FLAG_SIGNALS = 1; DP_FLAG_NO_HEALTH = 2; DP_FLAG_TAINT_UNHEALTHY = 4; DP_FLAG_NO_SLICES = 8; DP_FLAG_PREPARE_AGAIN = 16;
    DP_LOG_ERROR = 0; DP_LOG_WARN = 1; DP_LOG_WARNING = 1; DP_LOG_INFO = 2; DP_LOG_DEBUG = 3;
    DP_COUNTER = 0; DP_GAUGE = 1;
}

macro_rules! opaque {
    ($($name:ident)*) => { $(#[repr(C)] pub struct $name { _private: [u8; 0] })* };
}
opaque! { dp_driver dp_claim dp_allocation dp_metrics }

structs! {
    struct dp_attribute { size: u32, r#type: u32, name: Text, text: Text, number: i64 }
    struct dp_capacity {
        size: u32, reserved: u32, name: Text, quantity: Text,
        default_quantity: Text, valid_values: Texts, min: Text, max: Text, step: Text,
    }
    struct dp_counter { size: u32, reserved: u32, name: Text, quantity: Text }
    struct dp_counter_set { size: u32, ncounters: u32, pool: Text, name: Text, counters: *const dp_counter }
    struct dp_counter_use { size: u32, ncounters: u32, set: Text, counters: *const dp_counter }
    struct dp_taint { size: u32, reserved: u32, key: Text, value: Text, effect: Text, time_added: i64 }
    struct dp_device {
        size: u32, health: u32, name: Text, pool: Text,
        attributes: *const dp_attribute, capacity: *const dp_capacity, taints: *const dp_taint,
        nattributes: u32, ncapacity: u32, ntaints: u32, health_timeout_s: u32,
        message: Text, has_numa: i32, numa: i32,
        consumes: *const dp_counter_use, nconsumes: u32, allow_multiple: u32,
        node_name: Text, node_selector: Text, all_nodes: u32, binds_to_node: u32,
        binding_conditions: Texts, binding_failure_conditions: Texts,
    }
    struct dp_pool { size: u32, all_nodes: u32, name: Text, node_selector: Text, prepare_only: u32, reserved: u32 }
    struct dp_inventory {
        size: u32, flags: u32, devices: *const dp_device, ndevices: u64,
        sets: *const dp_counter_set, nsets: u64, pools: *const dp_pool, npools: u64,
    }
    struct dp_node {
        size: u32, reserved: u32, path: Text, host_path: Text, permissions: Text,
        r#type: Text, major: i64, minor: i64, has_numbers: u32, has_mode: u32, mode: u32, has_owner: u32, uid: u32, gid: u32,
    }
    struct dp_mount { size: u32, read_only: u32, path: Text, host_path: Text }
    struct dp_hook { size: u32, timeout_s: u32, name: Text, path: Text, args: Texts, env: Texts }
    struct dp_edits {
        size: u32, nnodes: u32, nmounts: u32, reserved: u32, env: Texts,
        nodes: *const dp_node, mounts: *const dp_mount, hooks: *const dp_hook, nhooks: u64,
    }
    struct dp_opaque { size: u32, source: u32, parameters: Text, named: u32, reserved: u32 }
    struct dp_result {
        size: u32, admin: u32, request: Text, subrequest: Text, pool: Text, device: Text, share_id: Text,
        configs: *const *const dp_opaque, nconfigs: u64, consumed: *const dp_capacity, nconsumed: u64,
        binding_conditions: Texts, binding_failure_conditions: Texts,
    }
    struct dp_consumer { size: u32, reserved: u32, api_group: Text, resource: Text, name: Text, uid: Text }
    struct dp_condition { size: u32, status: u32, r#type: Text, reason: Text, message: Text }
    struct dp_device_status {
        size: u32, nconditions: u32, nips: u32, reserved: u32, pool: Text, device: Text, share_id: Text,
        conditions: *const dp_condition, data: Text, interface_name: Text, ips: Texts, hardware_address: Text,
    }
    struct dp_claim_id { size: u32, reserved: u32, ns: Text, name: Text, uid: Text }
    struct dp_driver_config {
        size: u32, abi: u32, mode: u32, flags: u32,
        name: Text, node_name: Text, kubeconfig: Text, root_dir: Text, cdi_dir: Text, resource: Text, instance: Text,
        health_dialects: u32, health_timeout_s: u32, heartbeat_ms: u32, tick_ms: u32,
        arg: *mut c_void,
        prepare: Option<unsafe extern "C" fn(*mut c_void, *mut dp_claim) -> c_int>,
        unprepare: Option<unsafe extern "C" fn(*mut c_void, *mut dp_claim) -> c_int>,
        allocate: Option<unsafe extern "C" fn(*mut c_void, *mut dp_allocation) -> c_int>,
        registered: Option<unsafe extern "C" fn(*mut c_void, u32, Text)>,
        tick: Option<unsafe extern "C" fn(*mut c_void)>,
        log: Option<unsafe extern "C" fn(*mut c_void, u32, Text)>,
        metrics_address: Text,
        metrics: Option<unsafe extern "C" fn(*mut c_void, *mut dp_metrics)>,
    }
}

extern "C" {
    pub fn dp_driver_new(config: *const dp_driver_config, ret_driver: *mut *mut dp_driver, message: *mut c_char, message_size: usize) -> c_int;
    pub fn dp_driver_run(d: *mut dp_driver, message: *mut c_char, message_size: usize) -> c_int;
    pub fn dp_driver_stop(d: *mut dp_driver);
    pub fn dp_driver_free(d: *mut dp_driver);

    pub fn dp_driver_set_inventory(d: *mut dp_driver, inventory: *const dp_inventory, message: *mut c_char, message_size: usize) -> c_int;
    pub fn dp_driver_set_devices(d: *mut dp_driver, v: *const dp_device, n: usize, message: *mut c_char, message_size: usize) -> c_int;
    pub fn dp_driver_set_health(d: *mut dp_driver, pool: Text, device: Text, health: u32, message: Text) -> c_int;
    pub fn dp_driver_set_taints(
        d: *mut dp_driver, pool: Text, device: Text, v: *const dp_taint, n: usize, message: *mut c_char, message_size: usize,
    ) -> c_int;
    pub fn dp_driver_pause_health(d: *mut dp_driver, paused: u32);

    pub fn dp_driver_write_cdi(
        d: *mut dp_driver, device: Text, e: *const dp_edits, id: *mut c_char, id_size: usize, message: *mut c_char, message_size: usize,
    ) -> c_int;
    pub fn dp_driver_remove_cdi(d: *mut dp_driver, device: Text) -> c_int;

    pub fn dp_claim_namespace(c: *const dp_claim) -> Text;
    pub fn dp_claim_name(c: *const dp_claim) -> Text;
    pub fn dp_claim_uid(c: *const dp_claim) -> Text;
    pub fn dp_claim_count(c: *const dp_claim) -> usize;
    pub fn dp_claim_result(c: *const dp_claim, i: usize) -> *const dp_result;
    pub fn dp_claim_consumer_count(c: *const dp_claim) -> usize;
    pub fn dp_claim_consumer(c: *const dp_claim, i: usize) -> *const dp_consumer;
    pub fn dp_claim_edit(c: *mut dp_claim, i: usize, e: *const dp_edits) -> c_int;
    pub fn dp_claim_add_cdi(c: *mut dp_claim, i: usize, id: Text) -> c_int;
    pub fn dp_claim_fail(c: *mut dp_claim, message: Text) -> c_int;
    pub fn dp_claim_done(c: *mut dp_claim, result: c_int);

    pub fn dp_driver_set_status(
        d: *mut dp_driver, claim: *const dp_claim_id, s: *const dp_device_status, message: *mut c_char, message_size: usize,
    ) -> c_int;
    pub fn dp_driver_clear_status(d: *mut dp_driver, claim: *const dp_claim_id);
    pub fn dp_driver_each_claim(d: *mut dp_driver, f: unsafe extern "C" fn(*mut c_void, *const dp_claim), arg: *mut c_void);

    pub fn dp_allocation_count(a: *const dp_allocation) -> usize;
    pub fn dp_allocation_device(a: *const dp_allocation, i: usize) -> Text;
    pub fn dp_allocation_edit(a: *mut dp_allocation, e: *const dp_edits) -> c_int;
    pub fn dp_allocation_fail(a: *mut dp_allocation, message: Text) -> c_int;

    pub fn dp_metrics_add(m: *mut dp_metrics, name: Text, help: Text, r#type: u32, labels: Texts, value: f64) -> c_int;
}
