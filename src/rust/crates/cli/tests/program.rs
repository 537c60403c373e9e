//! The program as a shell sees it: what it says, its exit codes, and that nothing is left running. In the place of R
//! stand other programs, so these are the ways in which it does not come to serve.

use patience::{until, within};
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

struct Bench(TempDir);

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("app.R"), "").unwrap();
        Bench(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A program that takes the place of R.
    fn r(&self, script: &str) -> PathBuf {
        let path = self.path("R");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn drover(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_drover"));
        command.current_dir(self.0.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // where it makes its own folder, so that it can be seen whether that goes
        fs::create_dir_all(self.path("tmp")).unwrap();
        command.env("TMPDIR", self.path("tmp"));
        command
    }

    fn serve(&self, r: &Path) -> Command {
        let mut command = self.drover();
        command.args(["serve", "app.R", "--port", "0", "--r"]).arg(r);
        command
    }
}

/// Exit code and what was said to stderr.
fn run(command: &mut Command) -> (i32, String) {
    let child = command.spawn().unwrap();
    let Output { status, stderr, .. } = ended(child);
    (status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

/// Waits for the end, but not for ever.
fn ended(mut child: Child) -> Output {
    if !within(|| child.try_wait().unwrap().is_some()) {
        child.kill().unwrap();
        panic!("it does not end");
    }
    child.wait_with_output().unwrap()
}

#[test]
fn help_and_version_are_no_errors() {
    let bench = Bench::new();
    let output = bench.drover().arg("--version").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("drover {}\n", env!("CARGO_PKG_VERSION")));
    for args in [&["serve", "--help"][..], &["serve", "-h"], &["help", "serve"], &["app.R", "-h"]] {
        let output = bench.drover().args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(help.contains("--max-queue <N>") && help.contains("[env: DROVER_MAX_QUEUE=]"), "{help}");
        assert!(help.contains("-H, --host <HOST>") && help.contains("10MB, 128kB"), "{help}");
    }
    for args in [&["-h"][..], &["--help"], &["help"]] {
        let output = bench.drover().args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8(output.stdout).unwrap().contains("Usage: drover <COMMAND>"));
    }
    for args in [&["-V"][..], &["serve", "-V"]] {
        let output = bench.drover().args(args).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.starts_with(b"drover")), (Some(0), true));
    }
}

/// What R is told of the settings, when the program is started like this.
fn told(bench: &Bench, args: &[&str], variables: &[(&str, &str)]) -> (String, String) {
    let r = bench.r(r#"echo "$DROVER_SETTINGS" > told; exit 3"#);
    let (code, said) = run(bench.drover().args(args).arg("--r").arg(r).envs(variables.iter().copied()));
    assert_eq!(code, 1, "{said}");
    (fs::read_to_string(bench.path("told")).unwrap(), said)
}

#[test]
fn what_valves_users_write_is_understood() {
    let bench = Bench::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let (_, said) = told(&bench, &["-f", "app.R", "-n", "5", "-w", "3", "-h", "127.0.0.1", "-p", &free], &[]);
    assert!(said.contains("--workers 3 beside --n-min or --n-max is taken as valve means it: 3 threads"), "{said}");
    assert!(said.contains(": loading app.R (workers=1-5, each with variables of its own)"), "{said}");
    // a flag goes before a variable, whichever way round
    let (_, said) = told(&bench, &["app.R", "-n", "5", "-p", "0"], &[("DROVER_WORKERS", "2")]);
    assert!(said.contains("(workers=1-5,") && !said.contains("valve"), "{said}");
    let (_, said) = told(&bench, &["app.R", "-w", "2", "-p", "0"], &[("DROVER_N_MAX", "5")]);
    assert!(said.contains("(workers=2,") && !said.contains("valve"), "{said}");
    for workers in ["1-3", "auto"] {
        let (code, said) = run(bench.drover().args(["app.R", "-n", "5", "-w", workers]));
        assert_eq!((code, said.contains("--workers cannot be used with --n-min and --n-max")), (2, true), "{said}");
    }
}

#[test]
fn sizes_and_times_have_units() {
    let bench = Bench::new();
    let args = ["app.R", "-p", "0", "--max-body", "10MB", "--timeout", "2m", "--workers", "auto"];
    let (told, said) = told(&bench, &args, &[("DROVER_KEEP_ALIVE", "500ms"), ("DROVER_SPOOL_ABOVE", "64k")]);
    for setting in [r#""max_body":10000000"#, r#""timeout":120.0"#, r#""keep_alive":0.5"#, r#""spool_above":65536"#] {
        assert!(told.contains(setting), "{told}");
    }
    assert!(said.contains("(workers=auto, each with variables of its own)"), "{said}");
    let (code, said) = run(bench.drover().args(["app.R", "--max-body", "10 bananas"]));
    assert!(code == 2 && said.contains("'10 bananas'") && said.contains("a size such as 10MB"), "{said}");
}

#[test]
fn the_surroundings_are_heard_and_what_is_misspelt_is_told() {
    let bench = Bench::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, said) = run(bench.drover().args(["app.R", "--r", "/bin/sh"]).env("PORT", &port));
    assert!(code == 3 && said.contains(&format!("cannot listen on 127.0.0.1:{port}")), "{said}");
    told(&bench, &["app.R", "--port", "0"], &[("PORT", &port)]);
    told(&bench, &["app.R"], &[("PORT", &port), ("DROVER_PORT", "0")]);
    let (code, said) = run(bench.drover().arg("app.R").env("PORT", "http"));
    assert!(code == 2 && said.contains("the variable PORT must be a port in 0..65535, not 'http'"), "{said}");
    let (_, said) = told(&bench, &["app.R", "-p", "0"], &[("DROVER_MAXBODY", "1")]);
    assert!(said.contains("the variable DROVER_MAXBODY means nothing: DROVER_MAX_BODY is one that does"), "{said}");
    // the file may be in a variable alone
    let r = bench.r("exit 3");
    let (code, said) = run(bench.drover().env("DROVER_FILE", "app.R").env("DROVER_PORT", "0").env("DROVER_R", r));
    assert!(code == 1 && said.contains("loading app.R"), "{said}");
}

#[test]
fn a_settings_file_is_read_beside_the_app_or_where_it_is_said_to_be() {
    let bench = Bench::new();
    let config = "port = 0\nworkers = \"2-4\"\n\n[limits]\nmax_body = \"2MB\"\n\n[timeouts]\ntimeout = 7\n";
    fs::write(bench.path("drover.toml"), config).unwrap();
    let (settings, said) = told(&bench, &["app.R", "--timeout", "8"], &[("DROVER_MAX_BODY", "3MB")]);
    assert!(settings.contains(r#""max_body":3000000"#) && settings.contains(r#""timeout":8.0"#), "{settings}");
    assert!(said.contains("drover: settings are those of drover.toml\n") && said.contains("(workers=2-4,"), "{said}");
    fs::write(bench.path("other.toml"), "port = 0\nmax_body = 77").unwrap();
    for (args, variables) in [
        (&["app.R", "--config", "other.toml"][..], &[][..]),
        (&["app.R", "-c", "other.toml"], &[]),
        (&["app.R"], &[("DROVER_CONFIG", "other.toml")]),
    ] {
        let (settings, said) = told(&bench, args, variables);
        assert!(settings.contains(r#""max_body":77,"#) && said.contains("(workers=1-3,"), "{settings}\n{said}");
    }
    for (text, error) in [
        ("port = 0\nmax_bdoy = 1", "error: wrong.toml:2: max_bdoy is not a setting: did you mean max_body?\n"),
        ("[timeouts]\ntimeout = \"long\"", "error: wrong.toml:2: timeout must be a number of seconds >= 0"),
        ("port = ", "error: wrong.toml:1: "),
    ] {
        fs::write(bench.path("wrong.toml"), text).unwrap();
        let (code, said) = run(bench.drover().args(["app.R", "-c", "wrong.toml"]));
        assert!(code == 2 && said.starts_with(error), "{said}");
    }
    let (code, said) = run(bench.drover().args(["app.R", "-c", "none.toml"]));
    assert!(code == 2 && said.starts_with("error: cannot read none.toml: No such file"), "{said}");
}

#[test]
fn nonsense_is_2() {
    let bench = Bench::new();
    for args in [&["serve"][..], &["sever"], &["serve", "app.R", "--workers", "0"], &["serve", "app.R", "--n-min", "9"]]
    {
        let (code, said) = run(bench.drover().args(args));
        assert_eq!((code, said.matches("error: ").count()), (2, 1), "{said}");
    }
    let (code, said) = run(bench.serve(Path::new("/bin/sh")).args(["--log", "no/such/folder/log"]));
    assert!(code == 2 && said.starts_with("drover: log: no/such/folder/log: "), "{said}");
}

#[test]
fn a_variable_is_blamed_for_its_value_and_no_flag_is() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let blamed = |args: &[&str], variable: &str, value: &[u8], error: &str| {
        let (code, said) = run(bench.drover().args(args).env(variable, std::ffi::OsStr::from_bytes(value)));
        assert_eq!((code, said), (2, format!("error: {error}\n")));
    };
    let count = "a whole number >= 1";
    let workers = format!("the variable DROVER_WORKERS must be {count}, two of them as in 1-4, or auto, not 'many'");
    let port = "the variable DROVER_PORT must be a whole number in 0..65535";
    let kind = "the variable DROVER_KIND must be one of: script, plumber, annotations, rds, expression, not 'x'";
    for command in ["serve", "dev"] {
        blamed(&[command, "app.R"], "DROVER_WORKERS", b"many", &workers);
        blamed(&[command, "app.R"], "DROVER_PORT", b"abc", &format!("{port}, not 'abc'"));
        blamed(&[command, "app.R"], "DROVER_PORT", b"", port);
        blamed(
            &[command, "app.R"],
            "DROVER_N_MAX",
            b"0",
            &format!("the variable DROVER_N_MAX must be {count}, not '0'"),
        );
        let start = "the variable DROVER_START must be one of: auto, fork, spawn, not 'x'";
        blamed(&[command, "app.R"], "DROVER_START", b"x", start);
        blamed(&[command, "app.R"], "DROVER_DEBUG", b"x", "the variable DROVER_DEBUG must be true or false, not 'x'");
        blamed(&[command, "app.R"], "DROVER_LOG", b"\xff", "the variable DROVER_LOG must be UTF-8");
        blamed(&[command], "DROVER_FILE", b"", "the variable DROVER_FILE must not be empty");
        blamed(&[command, "app.R"], "DROVER_CONFIG", b"", "the variable DROVER_CONFIG must not be empty");
    }
    for command in ["serve", "dev", "routes", "check", "openapi"] {
        blamed(&[command, "app.R"], "DROVER_KIND", b"x", kind);
    }
    for command in [&["doctor"][..], &["version"], &["new", "a"], &["compress", "a"], &["docker", "a"]] {
        blamed(command, "DROVER_R", b"", "the variable DROVER_R must not be empty");
    }
    for command in ["status", "reload", "stop", "profile"] {
        blamed(&[command], "DROVER_SOCKETS", b"", "the variable DROVER_SOCKETS must not be empty");
    }
    // `serve` reads them, too, for `systemd`
    let (code, said) = run(bench.drover().args(["systemd", "app.R"]).env("DROVER_PORT", "abc"));
    assert_eq!((code, said), (2, format!("drover: {port}, not 'abc'\n")));
    // a flag is blamed for its own, also beside a variable that is as wrong, and a flag that is right goes before
    let (_, said) = run(bench.drover().args(["serve", "app.R", "--port", "abc"]).env("DROVER_PORT", "abc"));
    assert!(said.contains("'abc' for '--port"), "{said}");
    let (_, said) = told(&bench, &["app.R", "--port", "0"], &[("DROVER_PORT", "abc"), ("DROVER_FILE", "other.R")]);
    assert!(said.contains("loading app.R"), "{said}");
    // nor is one that is right blamed for what is wrong beside it
    let both = ["profile", "--memory", "--output", "x.svg"];
    let (code, said) = run(bench.drover().args(both).env("DROVER_SOCKETS", "x"));
    assert!(code == 2 && said.contains("cannot be used with"), "{said}");
    let (code, said) = run(bench.drover().args(["serve", "app.R", "--file", "app.R"]));
    assert!(code == 2 && said.starts_with("error: FILE cannot be used with --file"), "{said}");
}

#[test]
fn values_that_do_not_fit_together_are_told_with_their_places() {
    let bench = Bench::new();
    let serve = |variables: &[(&str, &str)]| {
        let r = Path::new("/bin/sh");
        run(bench.serve(r).envs(variables.iter().copied()))
    };
    let (code, said) = serve(&[("DROVER_N_MIN", "4")]);
    let error = "error: n_max must be at least n_min (4), not 3 (n_min: the variable DROVER_N_MIN)\n";
    assert!(code == 2 && said.starts_with(error), "{said}");
    let (code, said) = serve(&[("DROVER_TLS_KEY", "key.pem")]);
    let error =
        "error: tls_key: it needs tls_cert, the certificate of the server (tls_key: the variable DROVER_TLS_KEY)\n";
    assert_eq!((code, said.as_str()), (2, error));
    let (code, said) = serve(&[("DROVER_LOG", "no/such/log")]);
    assert!(code == 2 && said.trim_end().ends_with("(log: the variable DROVER_LOG)"), "{said}");
    fs::write(bench.path("drover.toml"), "\ntrusted_proxies = \"nobody\"").unwrap();
    let (code, said) = serve(&[]);
    assert!(code == 2 && said.trim_end().ends_with("(trusted_proxies: drover.toml:2)"), "{said}");
}

#[test]
fn what_is_missing_is_4() {
    let bench = Bench::new();
    let (code, said) = run(&mut bench.serve(Path::new("/nonexistent/R")));
    assert!(code == 4 && said.starts_with("drover: cannot find R: no program /nonexistent/R."), "{said}");
    let (code, said) = run(bench.drover().args(["serve", "other.R", "--r", "/bin/sh"]));
    assert_eq!((code, said.as_str()), (4, "drover: cannot read other.R: No such file or directory (os error 2)\n"));
}

#[test]
fn an_address_that_is_taken_is_3() {
    let bench = Bench::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    // it would be there to be seen
    let r = bench.r("touch started");
    let (code, said) = run(bench.drover().args(["serve", "app.R", "--port", &port, "--r"]).arg(r));
    assert_eq!(code, 3);
    assert!(said.starts_with(&format!("drover: cannot listen on 127.0.0.1:{port}: ")), "{said}");
    assert!(!bench.path("started").exists());
}

#[test]
fn an_app_that_does_not_load_is_1() {
    let bench = Bench::new();
    let r = bench.r(r#"echo "$R_LIBS|$DROVER_SETTINGS|$*" > told; exit 3"#);
    let (code, said) = run(bench.serve(&r).env("R_LIBS", "/some/library").args(["--max-body", "77"]));
    assert_eq!(code, 1);
    assert!(said.ends_with("drover: cannot load app.R: R exited with status 3 while it loaded the app\n"), "{said}");
    let told = fs::read_to_string(bench.path("told")).unwrap();
    let file = bench.path("app.R");
    let command = format!("drover:::zygote_main() --args {}\n", file.display());
    assert!(told.starts_with("/some/library|{") && told.ends_with(&command), "{told}");
    assert!(told.contains("|--no-echo --no-restore --no-save -e "), "{told}");
    assert!(told.contains(r#""max_body":77"#) && told.contains(r#""upload_path":"#), "{told}");
    let left = fs::read_dir(bench.path("tmp")).unwrap().count();
    assert_eq!(left, 0, "its folder for uploads is left");
}

#[test]
fn a_signal_while_it_starts_ends_it_and_what_it_started() {
    let bench = Bench::new();
    // a leader of a group with a child, as R is that runs system()
    let r = bench.r("sleep 1000 & echo $$ $! > pids.new; mv pids.new pids; wait");
    for signal in ["INT", "TERM"] {
        let mut child = bench.serve(&r).spawn().unwrap();
        until("R is started", || {
            assert!(child.try_wait().unwrap().is_none(), "it has ended");
            bench.path("pids").exists()
        });
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(ended(child).status.code(), Some(0), "{said}");
        assert!(said.contains("drover: ending within 30 s; a second signal ends at once"), "{said}");
        let pids = fs::read_to_string(bench.path("pids")).unwrap();
        for pid in pids.split_whitespace() {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
        }
        fs::remove_file(bench.path("pids")).unwrap();
    }
}

#[test]
fn a_terminal_that_has_gone_is_no_reason_to_panic() {
    let bench = Bench::new();
    let mut command = bench.drover();
    let (gone, stderr) = std::io::pipe().unwrap();
    drop(gone);
    // of both: a note, and an error
    command.args(["serve", "nowhere.R"]).env("DROVER_PROT", "1").stderr(stderr);
    let child = command.spawn().unwrap();
    drop(command);
    assert_eq!(ended(child).status.code(), Some(4));
}

#[test]
fn a_service_of_kubernetes_is_no_port() {
    let bench = Bench::new();
    let r = bench.r("exit 1");
    let mut command = bench.drover();
    command.args(["serve", "app.R", "--r"]).arg(r);
    command.env("PORT", "0").env("DROVER_PORT", "tcp://10.0.0.1:80").env("DROVER_PORT_80_TCP_ADDR", "10.0.0.1");
    let (code, said) = run(command.env("DROVER_SERVICE_HOST", "10.0.0.1"));
    let line = "drover: the variable DROVER_PORT is ignored, as tcp://10.0.0.1:80 is no port: Kubernetes sets it";
    assert!(said.starts_with(line) && said.contains("loading app.R"), "{code}: {said}");
    assert!(!said.contains("means nothing"), "{said}");
    let (code, said) = run(bench.drover().args(["serve", "app.R"]).env("DROVER_PORT", "http"));
    assert!(code == 2 && said.starts_with("error: the variable DROVER_PORT must be"), "{code}: {said}");
}
