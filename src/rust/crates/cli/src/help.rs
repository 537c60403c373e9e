//! Longer texts of the help. What options there are, and what each is, `options` says.

/// Behind the list of commands.
pub(crate) const AFTER_HELP: &str = "\
drover app.R is short for drover serve app.R; drover serve --help has all options.

Begin:    drover new shop && drover dev shop --open
Serve:    drover app.R --port 8000 --workers 2-8
Agents:   drover mcp app.R, drover mcp --list app.R
Look:     drover status, drover profile, drover routes app.R, drover doctor
Deploy:   drover check app.R, drover systemd app.R, drover docker app.R";

/// Of `drover dev`.
pub(crate) const DEV_EXAMPLES: &str = "\
Examples:
  drover dev app.R --open            and open it in a browser
  drover dev . --port 8000           the app in this folder
  drover dev app.R --watch ../shared with files from elsewhere
  drover dev app.R --ignore out      except what it writes itself
Takes all options of drover serve; --debug and one worker are the defaults here.";

/// Of `drover new`.
pub(crate) const NEW_EXAMPLES: &str = "\
Examples:
  drover new shop                    typed routes, settings and tests
  drover new shop --kind plumber     the same as a plumber.R
  drover new chat --kind websocket   rooms over WebSockets, and a page for them
  cd shop && Rscript -e 'testthat::test_dir(\"tests\")'";

/// For every command that takes settings.
pub(crate) const UNITS: &str =
    "Sizes and times take units: 10MB, 128kB, 1GiB; 500ms, 30s, 2m, 1h. Without a unit: bytes and seconds.";

/// Of `drover docker`.
pub(crate) const DOCKER_EXAMPLES: &str = "\
Examples:
  drover docker app.R                writes Dockerfile and .dockerignore beside it
  drover docker . --force            and overwrites existing ones
  docker build -t shop . && docker run --rm -p 8080:8080 shop";
