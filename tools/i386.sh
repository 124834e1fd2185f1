#!/bin/sh
# Builds build/i386/nucleon for a 32-bit host: other_host.sh says how, and when it cannot be.
exec sh "$(dirname "$0")/other_host.sh" i386
