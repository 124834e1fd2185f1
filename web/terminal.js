/* Standard error is a terminal, on which a command draws how far it is; what it writes goes to Module.onError as bytes. */
Module["preRun"] = function () {
    TTY.default_tty1_ops.put_char = function (tty, value) {
        Module["onError"](value);
    };
    ENV["TERM"] = "page";
    ENV["NO_COLOR"] = "1";
};
