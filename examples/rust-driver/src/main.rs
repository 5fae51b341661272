//! A DRA driver with health on the devplane SDK, in Rust: every file in a folder is a card.
//!
//!     cards-driver FOLDER NODE KUBECONFIG ROOT-DIR CDI-DIR
//!
//! A file that says "ok" is a healthy card. Any other text is the reason why the card is unhealthy. Containers get the
//! name of their card in EXAMPLE_CARD. docs/writing-a-driver.md makes the same driver in C.
mod devplane;

use devplane::*;
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::path::PathBuf;
use std::{env, fs, process, ptr};

/// A constant text for C.
macro_rules! c {
    ($text:literal) => {
        concat!($text, "\0").as_ptr().cast::<c_char>()
    };
}

struct Cards {
    folder: PathBuf,
    driver: *mut dp_driver,
}

/// The message of a call that failed.
struct Message([u8; 256]);

impl Message {
    fn new() -> Self {
        Message([0; 256])
    }
    fn buffer(&mut self) -> *mut c_char {
        self.0.as_mut_ptr().cast()
    }
    fn text(&self) -> String {
        let end = self.0.iter().position(|c| *c == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}

/// Text for C. C's strings end at the first NUL, so that is where this is cut.
fn c_text(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or("")).expect("it has no NUL")
}

/// The names of all cards with the text of their files.
fn read_cards(folder: &PathBuf) -> Vec<(CString, CString)> {
    let mut cards = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let text = fs::read_to_string(entry.path()).unwrap_or_else(|error| error.to_string());
        cards.push((c_text(&entry.file_name().to_string_lossy()), c_text(text.trim())));
    }
    cards.sort();
    cards
}

/// Publishes the cards and their health. The SDK calls it once a second.
unsafe extern "C" fn look(arg: *mut c_void) {
    let cards = &*(arg as *const Cards);
    let found = read_cards(&cards.folder);
    let model = dp_attribute { r#type: DP_STRING, name: c!("model"), text: c!("Example Card"), ..Default::default() };
    let memory = dp_capacity { name: c!("memory"), quantity: c!("8Gi"), ..Default::default() };
    let device = |(name, text): &(CString, CString)| {
        let healthy = text.as_bytes() == b"ok";
        dp_device {
            name: name.as_ptr(),
            attributes: &model,
            nattributes: 1,
            capacity: &memory,
            ncapacity: 1,
            health: if healthy { DP_HEALTHY } else { DP_UNHEALTHY },
            message: if healthy { ptr::null() } else { text.as_ptr() },
            ..Default::default()
        }
    };
    let devices: Vec<dp_device> = found.iter().map(device).collect();
    let mut message = Message::new();

    if dp_driver_set_devices(cards.driver, devices.as_ptr(), devices.len(), message.buffer(), 256) < 0 {
        eprintln!("cards: {}", message.text());
    }
}

/// Gives containers the name of their card. It may be called again for the same claim.
unsafe extern "C" fn prepare(_: *mut c_void, claim: *mut dp_claim) -> c_int {
    for i in 0..dp_claim_count(claim) {
        let card = CStr::from_ptr((*dp_claim_result(claim, i)).device);
        let variable = c_text(&format!("EXAMPLE_CARD={}", card.to_string_lossy()));
        let variables = [variable.as_ptr(), ptr::null()];
        let edits = dp_edits { env: variables.as_ptr(), ..Default::default() };

        if dp_claim_edit(claim, i, &edits) < 0 {
            return -1;
        }
    }
    0
}

fn run(args: &[CString]) -> Result<(), String> {
    // The SDK keeps the address, so this must not move.
    let mut cards = Box::new(Cards { folder: PathBuf::from(args[0].to_string_lossy().into_owned()), driver: ptr::null_mut() });
    let arg: *mut Cards = &mut *cards;
    let config = dp_driver_config {
        abi: DP_DRIVER_ABI,
        flags: DP_FLAG_SIGNALS | DP_FLAG_TAINT_UNHEALTHY,
        name: c!("cards.example.com"),
        node_name: args[1].as_ptr(),
        kubeconfig: args[2].as_ptr(),
        root_dir: args[3].as_ptr(),
        cdi_dir: args[4].as_ptr(),
        tick_ms: 1000,
        arg: arg.cast(),
        prepare: Some(prepare),
        tick: Some(look),
        ..Default::default()
    };
    let mut message = Message::new();

    // SAFETY: `config`, `args` and `cards` outlive the driver, and it runs on this thread only.
    unsafe {
        let mut result = dp_driver_new(&config, &mut (*arg).driver, message.buffer(), 256);
        if result == 0 {
            look(arg.cast());
            result = dp_driver_run((*arg).driver, message.buffer(), 256);
        }
        dp_driver_free((*arg).driver);
        if result < 0 { Err(message.text()) } else { Ok(()) }
    }
}

fn main() {
    let args: Vec<CString> = env::args().skip(1).map(|a| c_text(&a)).collect();

    if args.len() == 1 && args[0].as_bytes() == b"--layout" {
        println!("{}", layout().join("\n"));
    } else if args.len() != 5 {
        eprintln!("usage: cards-driver FOLDER NODE KUBECONFIG ROOT-DIR CDI-DIR");
        process::exit(2);
    } else if let Err(message) = run(&args) {
        eprintln!("cards: {message}");
        process::exit(1);
    }
}
