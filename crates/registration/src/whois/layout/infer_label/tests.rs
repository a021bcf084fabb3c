//! Test-only: what labels mean by their words, and what they do not mean.

use super::*;

#[test]
fn labels_mean_what_their_words_say() {
    for (label, value, want) in [
        ("Date of first registration", "2001-02-03", Some(Field::Created)),
        ("Registration is valid until", "2031-02-03", Some(Field::Expires)),
        ("Record date of last change", "2001-02-03", Some(Field::Updated)),
        ("domainCreationDate", "2001-02-03", Some(Field::Created)),
        ("Fecha de la última actualización", "2001-02-03", Some(Field::Updated)),
        ("registrationdate", "2001-02-03", Some(Field::Created)),
        ("domain_datelastmodified", "2001-02-03", Some(Field::Updated)),
        ("domaindateexpires", "2031-02-03", Some(Field::Expires)),
        ("domainstatus", "active", Some(Field::Status)),
        ("EPP status", "ok", Some(Field::Status)),
        ("registrantname", "Some Body", None),
        ("contactcreated", "2001-02-03", None),
        ("Domain will expire at", "2031-02-03 10:00:00", Some(Field::Expires)),
        ("Third DNS server", "ns3.example.net", Some(Field::Nameserver)),
        ("Registrar company full name", "Sample Registrar", Some(Field::Registrar)),
        ("Status of the record", "active", Some(Field::Status)),
        ("Platnost do", "2031-02-03", Some(Field::Expires)),
        ("Ngày cập nhật", "2001-02-03", Some(Field::Updated)),
        ("Дата на регистрация", "2001-02-03", Some(Field::Created)),
        // Not about the domain, not dates, or unclear.
        ("Platnost od", "2001-02-03", None),
        ("Valid from", "2001-02-03", None),
        ("Valido dal", "2001-02-03", None),
        ("Gültig ab", "2001-02-03", None),
        ("Valid since", "2001-02-03", None),
        ("Registered by", "Sample Registrar", None),
        ("Registered for", "Some Body", None),
        ("Created by", "Sample Registrar", None),
        ("Changed by", "Sample Registrar", None),
        ("Name of the registrant", "Some Body", None),
        ("Renewal status", "auto", None),
        ("Renewal price", "2001", None),
        ("Registration fee", "2001-02-03", None),
        ("Expiry notice", "2001-02-03", None),
        ("Server status", "ok", None),
        ("Name", "Some Body", None),
        ("First name", "Some", None),
        ("Primary contact", "ns1.example.net", None),
        ("Last renewed", "2001-02-03", None),
        ("Registrar created", "2001-02-03", None),
        ("Contact created", "2001-02-03", None),
        ("Whois server", "whois.example.net", None),
        ("Registration is valid until", "further notice", None),
        ("Last transferred date", "2001-02-03", None),
        ("Created and changed", "2001-02-03", None),
        ("Domain renewed", "2001-02-03", None),
        ("Paid on", "2001-02-03", None),
        ("Paid until", "2031-02-03", Some(Field::Expires)),
        ("Registrar number", "123", None),
        ("Registrar info", "http://registrar.example", None),
        ("Status date", "2001-02-03", None),
        ("Whois server name", "whois.example.net", None),
        ("Registration service", "Sample Registrar", None),
        ("Status changed", "2001-02-03", None),
        ("Last Update Time", "2001-02-03T00:00:00Z", None),
    ] {
        let got = meanings(label, value).first().map(|m| m.field);
        assert_eq!(got, want, "{label}: {value}");
    }
}

#[test]
fn an_end_is_no_beginning() {
    for (label, want) in [
        ("Registration valid to", Some(Field::Expires)),
        ("Registration paid to", Some(Field::Expires)),
        ("Domain registration valid to", Some(Field::Expires)),
        ("Registered to", Some(Field::Expires)),
        ("Registered to date", Some(Field::Expires)),
        ("Registriert bis", Some(Field::Expires)),
        ("Registrovan do", Some(Field::Expires)),
        ("Registrovan do dne", Some(Field::Expires)),
        ("Zarejestrowano do", Some(Field::Expires)),
        ("Registrace do", Some(Field::Expires)),
        ("Зарегистрирован до", Some(Field::Expires)),
        ("Registreret til", Some(Field::Expires)),
        ("Registratie tot", Some(Field::Expires)),
        ("Registrado hasta", Some(Field::Expires)),
        ("Registrado até", Some(Field::Expires)),
        ("Registration no later than", Some(Field::Expires)),
        ("Valid to", Some(Field::Expires)),
        ("Paid to date", Some(Field::Expires)),
        // "Of the", or what cannot be told.
        ("Data do registro", Some(Field::Created)),
        ("Registro do domínio", Some(Field::Created)),
        ("Data do registo do nome", Some(Field::Created)),
        ("Data do vencimento", Some(Field::Expires)),
        ("Registration valid", None),
        ("Registration paid", None),
        ("Registration valid on", None),
        ("Срок регистрации", None),
        ("Создан до", None),
        ("Created to", None),
        ("Changed to", None),
        ("Last registered to", None),
        ("Registrar paid to", None),
        ("To", None),
        ("Domain to", None),
    ] {
        let got = meanings(label, "2031-12-31").first().map(|m| m.field);
        assert_eq!(got.filter(|f| *f != Field::Nameserver), want, "{label}");
    }
}

#[test]
fn the_database_s_update_is_not_the_domain_s() {
    for (label, want) in [
        ("Data last updated", None),
        ("datalastupdated", None),
        ("Latest update", None),
        ("Date of last update", None),
        ("Date of the latest update", None),
        ("Registry last updated", None),
        ("Last registry update", None),
        ("Last registry change", None),
        ("Info last changed", None),
        ("Data last modified", None),
        ("Registry record last updated", Some(Field::Updated)),
        ("Date of last record update", Some(Field::Updated)),
        ("Domain data last updated", Some(Field::Updated)),
        ("Last registration update", Some(Field::Updated)),
        ("Date of last change", Some(Field::Updated)),
        ("Data da última alteração", Some(Field::Updated)),
        ("Data ultimei modificări", Some(Field::Updated)),
    ] {
        let got = meanings(label, "2031-12-31").first().map(|m| m.field);
        assert_eq!(got, want, "{label}");
    }
}

#[test]
fn a_label_names_the_domain_or_does_not() {
    for yes in
        ["Domain created", "domainCreated", "Record last updated", "domain_datelastmodified", "datum domena"]
    {
        assert!(names_the_domain(yes), "{yes}");
    }
    for no in ["Created on", "Registration Date", "Expiry date", ""] {
        assert!(!names_the_domain(no), "{no}");
    }
}
