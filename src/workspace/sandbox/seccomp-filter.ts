/**
 * Returns a filter program for the system calls of confined commands, in the kernel's format; undefined for an unknown
 * architecture. The filter rejects calls that commands do not need and that reach into other processes or the kernel,
 * because most kernel vulnerabilities that allow an escape from a sandbox involve one of them. It also rejects sockets
 * that network namespaces do not isolate, such as those to the host of a virtual machine.
 */
export function seccompFilter(architecture: string = process.arch): Buffer | undefined {
  const system = systems[architecture as keyof typeof systems];
  if (system === undefined) return undefined;
  const denied = [...common, ...system.denied];
  const instructions: readonly Instruction[] = [
    load(ARCHITECTURE),
    ...refuseUnless(equal(system.audit, { yes: 1 }), ENOSYS),
    load(NUMBER),
    // Numbers from here on are those of another x64 calling convention.
    ...(architecture === "x64" ? [atLeast(0x4000_0000, { no: 1 }), refuse(ENOSYS)] : []),
    ...onlySockets(system.socket),
    ...denied.flatMap((number) => [equal(number, { no: 1 }), refuse(EPERM)]),
    allow,
  ];
  const program = Buffer.alloc(instructions.length * 8);
  for (const [index, { code, yes = 0, no = 0, value }] of instructions.entries()) {
    const at = program.writeUInt16LE(code, index * 8);
    program.writeUInt32LE(value, program.writeUInt8(no, program.writeUInt8(yes, at)));
  }
  return program;
}

/** One instruction. `yes` and `no` are the numbers of instructions to skip after a comparison. */
interface Instruction {
  readonly code: number;
  readonly yes?: number;
  readonly no?: number;
  readonly value: number;
}

interface Skips {
  readonly yes?: number;
  readonly no?: number;
}

/** Offsets in the data that the kernel passes to the filter. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const FIRST_ARGUMENT = 16;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const load = (offset: number): Instruction => ({ code: 0x20, value: offset });
const equal = (value: number, skips: Skips): Instruction => ({ code: 0x15, value, ...skips });
const atLeast = (value: number, skips: Skips): Instruction => ({ code: 0x35, value, ...skips });
const refuse = (error: number): Instruction => ({ code: 0x06, value: 0x0005_0000 | error });
const allow: Instruction = { code: 0x06, value: 0x7fff_0000 };

function refuseUnless(condition: Instruction, error: number): readonly Instruction[] {
  return [condition, refuse(error)];
}

/** Allows only Unix, IPv4, IPv6 and netlink sockets. Programs list network devices through netlink. */
function onlySockets(number: number): readonly Instruction[] {
  const kinds = [1, 2, 10, 16];
  return [
    equal(number, { no: kinds.length + 3 }),
    load(FIRST_ARGUMENT),
    ...kinds.map((kind, index) => equal(kind, { yes: kinds.length - index })),
    refuse(EAFNOSUPPORT),
    allow,
  ];
}

/** io_uring, mounts by file descriptor, pidfd_getfd and quotactl_fd have the same numbers on all architectures. */
const common = [425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 443, 467];

const systems = {
  x64: {
    audit: 0xc000_003e,
    socket: 41,
    denied: [
      // ptrace, process_vm_readv, process_vm_writev, kcmp
      ...[101, 310, 311, 312],
      // bpf, perf_event_open, userfaultfd, lookup_dcookie, fanotify_init, open_by_handle_at, syslog
      ...[321, 298, 323, 212, 300, 304, 103],
      // add_key, request_key, keyctl
      ...[248, 249, 250],
      // mount, umount2, pivot_root, setns, quotactl
      ...[165, 166, 155, 308, 179],
      // kexec_load, kexec_file_load, create_module, init_module, delete_module, finit_module
      ...[246, 320, 174, 175, 176, 313],
      // swapon, swapoff, reboot, acct, settimeofday, clock_settime, clock_adjtime, iopl, ioperm, vhangup, _sysctl, uselib
      ...[167, 168, 169, 163, 164, 227, 305, 172, 173, 153, 156, 134],
    ],
  },
  arm64: {
    audit: 0xc000_00b7,
    socket: 198,
    denied: [
      // ptrace, process_vm_readv, process_vm_writev, kcmp
      ...[117, 270, 271, 272],
      // bpf, perf_event_open, userfaultfd, lookup_dcookie, fanotify_init, open_by_handle_at, syslog
      ...[280, 241, 282, 18, 262, 265, 116],
      // add_key, request_key, keyctl
      ...[217, 218, 219],
      // mount, umount2, pivot_root, setns, quotactl
      ...[40, 39, 41, 268, 60],
      // kexec_load, kexec_file_load, init_module, delete_module, finit_module
      ...[104, 294, 105, 106, 273],
      // swapon, swapoff, reboot, acct, settimeofday, clock_settime, clock_adjtime, vhangup
      ...[224, 225, 142, 89, 170, 112, 266, 58],
    ],
  },
} as const;
