//! Links the SDK with the libraries that its .pc file names.
use std::process::Command;

fn main() {
    let found = Command::new("pkg-config").args(["--libs", "--static", "devplane-driver"]).output().expect("pkg-config cannot be run");
    let error = String::from_utf8_lossy(&found.stderr);

    assert!(found.status.success(), "{error}set PKG_CONFIG_PATH to the folder lib/pkgconfig of the installed devplane");
    for word in String::from_utf8_lossy(&found.stdout).split_whitespace() {
        println!("cargo:rustc-link-arg-bins={word}");
    }
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
}
