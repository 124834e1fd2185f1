#!/usr/bin/python3
"""The module for Zephyr, without Zephyr: module.py NUCLEON ROOT. 77, "skipped", without the Arm toolchain, QEMU, PyYAML or kconfiglib.

Kconfig is read by kconfiglib, and its choices are what CMake gets. Functions in place of Zephyr's (ZephyrConfig.cmake)
build the module and its sample, without warnings; QEMU runs it, and prints what twister looks for. Zephyr's own build is
not a part of the test.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import kconfiglib
    import yaml
except ImportError as error:
    print(error)
    sys.exit(77)
for tool in ('arm-none-eabi-gcc', 'qemu-system-arm'):
    if shutil.which(tool) is None:
        print(f'no {tool}')
        sys.exit(77)

nucleon, root = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
sample = root / 'zephyr/samples/inference'
stub = root / 'test/zephyr'


def check(what, right):
    if not right:
        sys.exit(f'FAIL {what}')


def call(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(f'{command}: {done.stdout}', done.returncode == 0)
    return done.stdout


def configure(assignments, name):
    """prj.conf and more: what Kconfig makes of it, for CMake."""
    os.environ['MODULE_KCONFIG'] = str(root / 'zephyr/Kconfig')
    kconfig = kconfiglib.Kconfig(str(stub / 'Kconfig'), warn_to_stderr=False)
    kconfig.load_config(str(sample / 'prj.conf'))
    for assignment in assignments:
        symbol, value = assignment.removeprefix('CONFIG_').split('=')
        check(f'{symbol} is no symbol of Kconfig', symbol in kconfig.syms)
        kconfig.syms[symbol].set_value(value)
        check(f'{assignment}: is {kconfig.syms[symbol].str_value}', kconfig.syms[symbol].str_value == value)
    check(f'Kconfig: {kconfig.warnings}', not kconfig.warnings)
    values = {s.name: s.str_value for s in kconfig.unique_defined_syms if s.str_value not in ('', 'n')}
    pathlib.Path(f'{name}.cmake').write_text(''.join(f'set(CONFIG_{n} {v})\n' for n, v in values.items()))
    return values


def read_module():
    module = yaml.safe_load((root / 'zephyr/module.yml').read_text())
    check('module.yml has other keys', set(module) <= {'name', 'build', 'samples', 'tests', 'boards'})
    check('module.yml: no CMakeLists.txt', (root / module['build']['cmake'] / 'CMakeLists.txt').is_file())
    check('module.yml: no Kconfig', (root / module['build']['kconfig']).is_file())
    check('module.yml: no samples', all(list((root / s).glob('*/sample.yaml')) for s in module['samples']))
    text = yaml.safe_load((sample / 'sample.yaml').read_text())
    check('sample.yaml has other keys', set(text) == {'sample', 'common', 'tests'})
    return text['common']['harness_config']['regex'], text['tests']


def build(name, board, cpu, values, assignments):
    toolchain = pathlib.Path(f'{name}_toolchain.cmake')
    toolchain.write_text('set(CMAKE_SYSTEM_NAME Generic)\nset(CMAKE_SYSTEM_PROCESSOR arm)\n'
                         'set(CMAKE_C_COMPILER arm-none-eabi-gcc)\nset(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)\n'
                         f'set(CMAKE_C_FLAGS_INIT "{cpu}")\nset(CMAKE_ASM_FLAGS_INIT "{cpu}")\n')
    launcher = ['-DCMAKE_C_COMPILER_LAUNCHER=ccache'] if shutil.which('ccache') else []
    call('cmake', '-G', 'Ninja', '-S', sample, '-B', name, f'-DCMAKE_TOOLCHAIN_FILE={toolchain.resolve()}',
         f'-DZephyr_DIR={stub}', f'-DTEST_CONFIG={pathlib.Path(name + ".cmake").resolve()}', f'-DTEST_MODULE={root}',
         f'-DTEST_STUB={stub}', f'-DTEST_BOARD={board}', f'-DNUCLEON={nucleon}', *launcher)
    call('cmake', '--build', name)
    commands = pathlib.Path(name, 'build.ninja').read_text()
    without = {'cmsis', 'wide'} | (set() if 'NUCLEON_NPU_SIMULATOR' in values else {'npusim'})  # wide: of a host
    missing = [p for p in root.glob('src/device/**/*.[cS]') if p.parent.name not in without and f'{p} ' not in commands]
    check(f'sources: {missing}', not missing)
    simulated = values.get('NUCLEON_NPU_SIMULATOR') == 'y'
    check('the simulator', simulated == ('npusim' in commands))
    check('suspension', simulated == ('-DNUCLEON_SUSPEND_NPU' in commands))
    check('messages', ('NUCLEON_MESSAGES' in values) != ('-DNUCLEON_NO_MESSAGES' in commands))
    check('kernels', ('-DNUC_SELECT_REF' in commands) == ('CONFIG_NUCLEON_KERNELS_REF=y' in assignments))
    return f'{name}/app'


regex, tests = read_module()
m33 = '-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16'
m55 = '-mcpu=cortex-m55 -mthumb -mfloat-abi=hard'
os.chdir(tempfile.mkdtemp())
try:
    # Zephyr selects the driver of the NPU's vendor, and then the simulator is not there, too.
    chosen = configure(['CONFIG_NXP_NEUTRON=y', 'CONFIG_NUCLEON_NPU_VENDOR=y'], 'vendor')
    check('one NPU', 'NUCLEON_NPU_SIMULATOR' not in chosen and 'NUCLEON_SUSPEND_NPU' in chosen)
    for name, board, cpu, more in (('sample.nucleon.inference.m33', 'mps2_an505', m33, ['CONFIG_NUCLEON_KERNELS_REF=y']),
                                   ('sample.nucleon.inference.m55', 'mps3_an547', m55, ['CONFIG_ARMV8_1_M_MVEI=y']),
                                   ('sample.nucleon.inference.simulator', 'mps2_an505', m33, ['CONFIG_NUCLEON_MESSAGES=n'])):
        assignments = tests[name].get('extra_configs', []) + more
        image = build(name, board, cpu, configure(assignments, name), assignments)
        printed = call('sh', root / 'tools/firmware_run.sh', image)
        check(f'{name} prints {printed}', all(re.search(r, printed) for r in regex))
        print(f'{name}: {printed.splitlines()[-1]}')
    check('a test of sample.yaml is not run here', len(tests) == 3)
finally:
    shutil.rmtree(os.getcwd())
print('passed')
