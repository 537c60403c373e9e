# The commands of this repository. Each one installs by itself what it needs (Debian's packages, by apt) and builds
# what has changed; the work is done by the scripts in tools/.

.PHONY: help demo dev test quick docs deny sanitize soak fuzz bench check tarball release clean

help:
	@echo "make demo    serve inst/examples/hello on http://127.0.0.1:8080 (another port: make demo PORT=9000)"
	@echo "make test    everything that must pass, with one line of counts at the end"
	@echo "make quick   the part of it that finds most mistakes, within three minutes when little has changed"
	@echo "make dev FILE=app.R  serve an app with a build that is made quickly (OPTIONS=\"--port 9000\")"
	@echo "make docs    make man/, NAMESPACE and the notices of third parties anew"
	@echo "make deny    licences, sources and known faults of the engine's libraries, by cargo-deny"
	@echo "make sanitize  a stage of make test on its own: C handlers under AddressSanitizer and ThreadSanitizer"
	@echo "make soak    mixed requests and faults for MINUTES=10, and a table of what grew"
	@echo "make fuzz    look for inputs that break the fuzz targets, for 10 minutes (MINUTES=60; MERGE=1 keeps what was found)"
	@echo "make bench   measure against nginx and other R servers; results in benchmarks/results/"
	@echo "make bench PROFILE=/ping  where the time of one route goes, by perf (of another app: APP=shop/app.R)"
	@echo "make check   R CMD check, without the manual"
	@echo "make tarball build the source package as it is released: drover_VERSION.tar.gz"
	@echo "make release  the same, and a package made of it that installs without a compiler"
	@echo "make clean   remove what was built"

# Another example: make demo EXAMPLE=json-api
demo:
	@tools/demo.sh "$(or $(EXAMPLE),hello)" "$(or $(PORT),8080)"

# Some stages only: make test STAGES="architecture examples". The build that users have: make test BUILD=release
test:
	@tools/test.sh $(STAGES)

quick:
	@tools/test.sh --quick $(STAGES)

dev:
	@tools/dev.sh "$(FILE)" $(OPTIONS)

docs:
	@tools/docs.sh

deny:
	@tools/deny.sh

sanitize:
	@tools/setup.sh test
	@tools/sanitize.sh

soak:
	@tools/soak.sh "$(or $(MINUTES),10)"

# Some targets only: make fuzz TARGETS="wire ring"
fuzz:
	@tools/setup.sh test
	@MINUTES=$(or $(MINUTES),10) MERGE=$(MERGE) tools/fuzz.sh $(TARGETS)

# Where the time of one route goes, by perf: make bench PROFILE=/ping, or PROFILE=/orders/7 APP=shop/app.R
bench:
	@PROFILE="$(PROFILE)" APP="$(APP)" tools/bench.sh

check:
	@tools/check.sh

tarball:
	@tools/tarball.sh

release:
	@tools/release.sh

clean:
	rm -rf .Rlib .Rcheck web/node_modules inst/web src/rust/target tests/fuzz/target tests/fuzz/artifacts
	./cleanup
