# A Postfix of its own for tests: sh postfix.sh FOLDER PORT CERTIFICATE KEY. It takes mail for ops@alder.example over TLS
# only, greylists later@alder.example, and knows no one else. Ends when its standard input does.
folder=$1 port=$2 certificate=$3 key=$4
PATH="$PATH:/usr/sbin:/sbin"
mkdir -p "$folder/spool" "$folder/data" "$folder/mail" "$folder/conf" || exit 1
chmod 755 "$folder"
chown postfix "$folder/data" && chown nobody "$folder/mail" || exit 1
cat >"$folder/conf/main.cf" <<END
compatibility_level = 3.6
queue_directory = $folder/spool
data_directory = $folder/data
mail_owner = postfix
setgid_group = postdrop
maillog_file = $folder/log
maillog_file_prefixes = $folder
myhostname = mx.alder.example
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
alias_database =
smtpd_tls_security_level = encrypt
smtpd_tls_cert_file = $certificate
smtpd_tls_key_file = $key
virtual_mailbox_domains = alder.example
virtual_mailbox_base = $folder/mail
virtual_mailbox_maps = inline:{ { ops@alder.example = ops/ } { later@alder.example = ops/ } }
virtual_uid_maps = static:$(id -u nobody)
virtual_gid_maps = static:$(id -g nobody)
virtual_minimum_uid = 1
smtpd_recipient_restrictions =
  check_recipient_access inline:{ { later@alder.example = 450 4.2.0 Greylisted, try again later } }, reject_unauth_destination
END
cat >"$folder/conf/master.cf" <<END
127.0.0.1:$port inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - n n - - proxymap
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
END
postfix -c "$folder/conf" start >"$folder/start" 2>&1 || { cat "$folder/start" "$folder/log" >&2; exit 1; }
echo ready
cat >/dev/null
postfix -c "$folder/conf" stop >/dev/null 2>&1
# Its processes write until they have ended.
while postfix -c "$folder/conf" status >/dev/null 2>&1; do sleep 0.1; done
