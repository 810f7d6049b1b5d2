# Installing without a package manager.

##: PREFIX=/usr     install, uninstall: where; by default /usr/local. Also SYSCONFDIR=/etc and DESTDIR=
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
BINDIR = $(PREFIX)/bin
MANDIR = $(PREFIX)/share/man/man8
UNITDIR = $(PREFIX)/lib/systemd/system
EXAMPLEDIR = $(PREFIX)/share/doc/obbd/examples
EXAMPLES_INSTALLED := obbd.env tokens.json
.PHONY: install uninstall

# The man page and the unit name the folders chosen here; the man page lists the options of --help.
FILL = sed -e 's|@BINDIR@|$(BINDIR)|g' -e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g'
##@ Ship
install: all ## daemon, man page, systemd unit and examples; PREFIX=/usr/local, SYSCONFDIR=/etc, DESTDIR=
	install -D -m 755 $(B)/obbd $(DESTDIR)$(BINDIR)/obbd
	@server/install/man.sh $(B)/obbd server/install/obbd.8.in | $(FILL) >$(B)/obbd.8
	install -D -m 644 $(B)/obbd.8 $(DESTDIR)$(MANDIR)/obbd.8
	@$(FILL) server/install/obbd.service.in >$(B)/obbd.service
	install -D -m 644 $(B)/obbd.service $(DESTDIR)$(UNITDIR)/obbd.service
	install -d $(DESTDIR)$(EXAMPLEDIR)
	install -m 644 $(addprefix server/install/,$(EXAMPLES_INSTALLED)) $(DESTDIR)$(EXAMPLEDIR)

uninstall: ## remove what install put there; settings stay
	rm -f $(DESTDIR)$(BINDIR)/obbd $(DESTDIR)$(MANDIR)/obbd.8 $(DESTDIR)$(UNITDIR)/obbd.service \
	 $(addprefix $(DESTDIR)$(EXAMPLEDIR)/,$(EXAMPLES_INSTALLED))
	@rmdir -p $(DESTDIR)$(EXAMPLEDIR) 2>/dev/null || true
