# Two commands for a fresh Debian machine: `make demo` and `make test`. Everything else is CMake presets.
BUILD_PACKAGES = gcc libc6-dev cmake ninja-build pkg-config zlib1g-dev libjpeg62-turbo-dev libpng-dev \
	libjansson-dev
TEST_PACKAGES = $(BUILD_PACKAGES) libcmocka-dev libzip-dev gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm unzip \
	python3-jsonschema python3-numpy python3-yaml python3-kconfiglib jq dpkg-dev

EXAMPLE_PACKAGES = $(BUILD_PACKAGES) gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm python3-numpy

.PHONY: all demo example example-tools test deb wheel web pack soak bench firmware asan fuzz clang format check-format clean

all: build/release/build.ninja
	@cmake --build build/release

# Builds the compiler, compiles the digits network and runs it on the simulator.
demo:
	@sh tools/install_packages.sh $(BUILD_PACKAGES)
	@sh tools/build.sh release -DBUILD_TESTING=OFF
	@sh tools/demo.sh build/release

# An example with its figures: make example NAME=spoken. Without a name, which there are.
example:
	@[ -n "$(NAME)" ] && [ -f "examples/$(NAME)/run.sh" ] || { echo "make example NAME=...: one of" \
	    $$(ls examples/*/run.sh | cut -d/ -f2) >&2; exit 2; }
	@sh examples/$(NAME)/run.sh

# What the scripts of examples need; they call it when something is missing.
example-tools:
	@sh tools/install_packages.sh $(EXAMPLE_PACKAGES)
	@sh tools/build.sh release -DBUILD_TESTING=OFF

# Builds everything and passes the whole suite.
test:
	@sh tools/install_packages.sh $(TEST_PACKAGES)
	@sh tools/build.sh release -DBUILD_TESTING=ON
	@sh tools/build.sh cm33
	@sh tools/build.sh cm55
	@sh tools/test.sh build/release build/cm33

# Debian packages of this machine's release, in build/deb: see docs/install.md.
deb:
	@sh tools/install_packages.sh $(BUILD_PACKAGES) dpkg-dev
	@sh tools/make_deb.sh build/deb/build build/deb

# A Python wheel for every Linux with glibc 2.34, in build: see docs/python.md.
wheel: all
	@sh tools/wheel.sh build/release build

# A CMSIS-Pack of what runs on the microcontroller: see docs/cmsis-pack.md.
pack:
	@cmake -DOUT=build -P tools/pack.cmake

# The compiler as one page for browsers, build/web/nucleon.html: see docs/web.md.
web:
	@sh tools/install_packages.sh cmake ninja-build pkg-config emscripten
	@sh tools/web.sh

# Everything next to peers, into the tables of bench/README.md: make bench MODELS=FOLDER, or CHECKOUTS=FOLDER. The head of
# bench/peers.sh says where peers, a version before and networks are taken from: PEER=..., PEER_IMAGE=..., CMSIS_NN=...,
# BEFORE=..., NETWORKS=...
bench: all
	@sh bench/peers.sh -w "$(MODELS)"

# An image for a board in QEMU: make firmware PROGRAM=x.pte [CPU=cortex-m33|cortex-m55] [NPU=none|sim|DRIVER.a] [INPUT=samples.bin] [GENERATED=1].
# NUCLEON_CMSIS_NN_DIR=DIR takes CMSIS-NN's kernels. See docs/firmware.md.
firmware: all
	@CPU=$(CPU) GENERATED=$(GENERATED) sh tools/firmware.sh "$(PROGRAM)" "$(NPU)" "$(INPUT)"

# The suite under AddressSanitizer and UndefinedBehaviorSanitizer.
asan:
	@sh tools/install_packages.sh $(TEST_PACKAGES)
	@sh tools/build.sh asan -DBUILD_TESTING=ON
	@sh tools/test.sh build/asan

# The tests that take long: faults at every call, every flipped bit, many random networks. PARTS="NAME ..." runs some,
# 'sh tools/soak.sh --list' names them and says how long they take.
soak:
	@sh tools/install_packages.sh $(TEST_PACKAGES)
	@sh tools/build.sh release -DBUILD_TESTING=ON
	@sh tools/soak.sh build/release $(PARTS)

# The inputs of the fuzz targets are alive, and SECONDS (60) of libFuzzer for each target.
fuzz:
	@sh tools/install_packages.sh $(TEST_PACKAGES) clang
	@cmake --preset fuzz -DBUILD_TESTING=ON >/dev/null && cmake --build --preset fuzz
	@ctest --test-dir build/fuzz -R '^fuzz\.' --output-on-failure --no-tests=error
	@sh tools/fuzz.sh build/fuzz $(or $(SECONDS),60)s

# Everything with clang, warnings as errors.
clang:
	@sh tools/install_packages.sh $(TEST_PACKAGES) clang
	@sh tools/build.sh clang -DBUILD_TESTING=ON

build/release/build.ninja:
	@for tool in cmake ninja pkg-config; do command -v $$tool >/dev/null || { echo "$$tool is missing: as root run:" \
	    "apt-get install $(BUILD_PACKAGES)" >&2; exit 1; }; done
	@sh tools/build.sh release -DBUILD_TESTING=OFF

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

check-format:
	@sh tools/install_packages.sh clang-format
	@git ls-files '*.c' '*.h' | xargs -P 2 -n 60 clang-format --dry-run -Werror

clean:
	rm -rf build out
